import type { Static } from 'typebox'
import { scopeDescriptions } from '../../integrations/consent/scope-descriptions.ts'
import type { Integration } from '../../integrations/integrations/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { Type } from '../../platform/schema/builder.ts'
import { field, PLAIN_TEXT } from '../action.ts'
import type { FormError } from '../form-error.ts'
import { chosenScopes, SCOPE_LEVELS, scopeLevels } from '../scope-levels.ts'

const changeable = {
  name: Type.String(),
  redirectUrl: Type.String(),
  webhookUrl: Type.Optional(Type.String()),
  logoUrl: Type.Optional(Type.String()),
  ...SCOPE_LEVELS,
}
export const NewApp = Type.Object({ slug: Type.String(), ...changeable })
export const ChangedApp = Type.Object(changeable)

/** Returns the body for the routes that create and update an integration. */
export function bodyOfApp(form: Static<typeof ChangedApp>) {
  const { name, redirectUrl, webhookUrl = '', logoUrl = '' } = form
  return {
    name: name.trim(),
    redirectUrl: redirectUrl.trim(),
    webhookUrl: webhookUrl.trim() || null,
    logoUrl: logoUrl.trim() || null,
    scopes: chosenScopes(form),
  }
}

/** Renders the editable fields. `app`: undefined for a new app. */
export function appFields(app: Integration | undefined, error: FormError | undefined): Html {
  return html`${field('name', 'Name', { required: true, error, hint: 'Shown to users who install the app.', value: app?.name, attributes: html` maxlength="100"` })}
${field('redirectUrl', 'Redirect URL', { type: 'url', required: true, error, hint: 'Receives the authorization code after an installation. Must be https, or http on localhost.', value: app?.redirectUrl, attributes: PLAIN_TEXT })}
${field('webhookUrl', 'Webhook URL', { type: 'url', error, hint: 'Receives the events of every account with an installation. Optional.', value: app?.webhookUrl ?? undefined, attributes: PLAIN_TEXT })}
${field('logoUrl', 'Logo URL', { type: 'url', error, hint: 'A square image, served over https. Optional.', value: app?.logoUrl ?? undefined, attributes: PLAIN_TEXT })}
${scopeLevels('Requested access', app?.scopes ?? [], error, (scope) => scopeDescriptions(scope).write)}`
}

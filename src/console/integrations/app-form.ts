/** The form of an integration that a team registers: its fields as a browser sends them, and as the route takes them. */
import type { Static } from 'typebox'
import { scopeDescriptions } from '../../integrations/consent/scope-descriptions.ts'
import type { Integration } from '../../integrations/integrations/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { Type } from '../../platform/schema/builder.ts'
import { field } from '../action.ts'
import type { Refused } from '../refused.ts'
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

/** The body for the routes that register and change an integration. */
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

/** The fields that can be changed. `app`: as it is; undefined: it is not there yet. */
export function appFields(app: Integration | undefined, refused: Refused | undefined): Html {
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return html`${field('name', 'Name', { required: true, refused, hint: 'People decide by it whether they install the app.', ...(app && { value: app.name }), attributes: html` maxlength="100"` })}
${field('redirectUrl', 'Redirect URL', { type: 'url', required: true, refused, hint: 'Where a person goes with the code once they installed it: https, or http on your own machine.', ...(app && { value: app.redirectUrl }), attributes: plain })}
${field('webhookUrl', 'Webhook URL', { type: 'url', refused, hint: 'Hears what happens on every account that has installed it. May be empty.', ...(app?.webhookUrl && { value: app.webhookUrl }), attributes: plain })}
${field('logoUrl', 'Logo URL', { type: 'url', refused, hint: 'A square image on https. May be empty.', ...(app?.logoUrl && { value: app.logoUrl }), attributes: plain })}
${scopeLevels('What it asks for', app?.scopes ?? [], refused, (scope) => scopeDescriptions(scope).write)}`
}

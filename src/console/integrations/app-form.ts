/** The form of an integration that a team registers: its fields as a browser sends them, and as the route takes them. */
import type { Static } from 'typebox'
import { scopeWords } from '../../consent/scope-words.ts'
import type { Integration } from '../../integrations/schema.ts'
import { type Html, html } from '../../pages/html.ts'
import { SCOPES } from '../../permissions/scopes.ts'
import { Type } from '../../schema/builder.ts'
import { faultBeside, field, type Refused } from '../action.ts'

const LEVELS = { '': 'No', read: 'Read', 'read-write': 'Read and write' } as const

const changeable = {
  name: Type.String(),
  redirectUrl: Type.String(),
  webhookUrl: Type.Optional(Type.String()),
  logoUrl: Type.Optional(Type.String()),
  ...Object.fromEntries(SCOPES.map((scope) => [levelField(scope), Type.Optional(Type.String())])),
}
export const NewApp = Type.Object({ slug: Type.String(), ...changeable })
export const ChangedApp = Type.Object(changeable)

function levelField(scope: string): string {
  return `level-${scope}`
}

/** The body for the routes that register and change an integration. */
export function bodyOfApp(form: Static<typeof ChangedApp>) {
  const { name, redirectUrl, webhookUrl = '', logoUrl = '' } = form
  const levels = form as Record<string, string | undefined>
  return {
    name: name.trim(),
    redirectUrl: redirectUrl.trim(),
    webhookUrl: webhookUrl.trim() || null,
    logoUrl: logoUrl.trim() || null,
    scopes: SCOPES.flatMap((scope) => {
      const level = levels[levelField(scope)]
      return level ? [`${level}:${scope}`] : []
    }),
  }
}

/** The fields that can be changed. `app`: as it is; undefined: it is not there yet. */
export function appFields(app: Integration | undefined, refused: Refused | undefined): Html {
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return html`${field('name', 'Name', { required: true, refused, hint: 'People decide by it whether they install the app.', ...(app && { value: app.name }), attributes: html` maxlength="100"` })}
${field('redirectUrl', 'Redirect URL', { type: 'url', required: true, refused, hint: 'Where a person goes with the code once they installed it: https, or http on your own machine.', ...(app && { value: app.redirectUrl }), attributes: plain })}
${field('webhookUrl', 'Webhook URL', { type: 'url', refused, hint: 'Hears what happens on every account that has installed it. May be empty.', ...(app?.webhookUrl && { value: app.webhookUrl }), attributes: plain })}
${field('logoUrl', 'Logo URL', { type: 'url', refused, hint: 'A square image on https. May be empty.', ...(app?.logoUrl && { value: app.logoUrl }), attributes: plain })}
${scopesField(app?.scopes ?? [], refused)}`
}

function scopesField(scopes: readonly string[], refused: Refused | undefined): Html {
  const levelOf = (scope: string) => {
    const typed = refused?.typed[levelField(scope)]
    return typed === undefined ? (scopes.find((one) => one.endsWith(`:${scope}`))?.split(':')[0] ?? '') : String(typed)
  }
  return html`<fieldset id="scopes"><legend>What it asks for</legend>
${refused?.field === 'scopes' && faultBeside('scopes', refused)}
<div class="sheet plain"><table><thead><tr><th scope="col">Scope</th><th scope="col">Access</th></tr></thead><tbody>
${SCOPES.map(
  (
    scope,
  ) => html`<tr><td><label class="bare" for="${levelField(scope)}">${scope}</label><br><span class="soft small">${scopeWords(scope).write}</span></td>
<td><select id="${levelField(scope)}" name="${levelField(scope)}">${Object.entries(LEVELS).map(
    ([value, words]) => html`<option value="${value}"${levelOf(scope) === value && html` selected`}>${words}</option>`,
  )}</select></td></tr>`,
)}
</tbody></table></div></fieldset>`
}

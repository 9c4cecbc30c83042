import { type Html, html } from '../platform/pages/html.ts'
import { SCOPES, type Scope } from '../platform/permissions/scopes.ts'
import { Type } from '../platform/schema/builder.ts'
import { fieldErrorNotice } from './action.ts'
import { pick } from './fields.ts'
import type { FormError } from './form-error.ts'

const LEVELS = { '': 'None', read: 'Read', 'read-write': 'Read and write' } as const

/** Form fields, for its schema. */
export const SCOPE_LEVELS = Object.fromEntries(SCOPES.map((scope) => [levelField(scope), Type.Optional(Type.String())]))

function levelField(scope: string): string {
  return `level-${scope}`
}

/** Returns the chosen scopes, such as `read:project`. */
export function chosenScopes(form: object): string[] {
  const levels = form as Record<string, string | undefined>
  return SCOPES.flatMap((scope) => {
    const level = levels[levelField(scope)]
    return level ? [`${level}:${scope}`] : []
  })
}

/** Returns the form fields of scopes: the level of each, empty without one. */
export function levelFields(scopes: readonly string[]): Record<string, string> {
  return Object.fromEntries(SCOPES.map((scope) => [levelField(scope), levelOf(scopes, scope)]))
}

function levelOf(scopes: readonly string[], scope: string): string {
  return scopes.find((level) => level.endsWith(`:${scope}`))?.split(':')[0] ?? ''
}

/** Renders all scopes with a level each: the submitted one, or that of `scopes`. `wordsOf`: the description of a scope. */
export function scopeLevels(
  legend: string,
  scopes: readonly string[],
  error: FormError | undefined,
  wordsOf: (scope: Scope) => string,
): Html {
  const chosen = (scope: string) => String(error?.typed[levelField(scope)] ?? levelOf(scopes, scope))
  return html`<fieldset id="scopes"><legend>${legend}</legend>
${error?.field === 'scopes' && fieldErrorNotice('scopes', legend, error)}
${SCOPES.map((scope) => {
  const field = levelField(scope)
  const options = Object.entries(LEVELS).map(
    ([value, words]) => html`<option value="${value}"${chosen(scope) === value && html` selected`}>${words}</option>`,
  )
  return html`<div class="level"><div><label for="${field}">${scope}</label><p class="soft small" id="${field}-hint">${wordsOf(scope)}</p></div>
${pick(html`<select id="${field}" name="${field}" aria-describedby="${field}-hint">${options}</select>`)}</div>`
})}
</fieldset>`
}

import { type Html, html } from '../platform/pages/html.ts'
import { SCOPES, type Scope } from '../platform/permissions/scopes.ts'
import { Type } from '../platform/schema/builder.ts'
import { fieldErrorNotice } from './action.ts'
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

/** Renders all scopes with a level each: the submitted one, or that of `scopes`. `wordsOf`: the description of a scope. */
export function scopeLevels(
  legend: string,
  scopes: readonly string[],
  error: FormError | undefined,
  wordsOf: (scope: Scope) => string,
): Html {
  const levelOf = (scope: string) => {
    const typed = error?.typed[levelField(scope)]
    return typed === undefined ? (scopes.find((one) => one.endsWith(`:${scope}`))?.split(':')[0] ?? '') : String(typed)
  }
  return html`<fieldset id="scopes"><legend>${legend}</legend>
${error?.field === 'scopes' && fieldErrorNotice('scopes', legend, error)}
${SCOPES.map((scope) => {
  const field = levelField(scope)
  const options = Object.entries(LEVELS).map(
    ([value, words]) => html`<option value="${value}"${levelOf(scope) === value && html` selected`}>${words}</option>`,
  )
  return html`<div class="level"><div><label for="${field}">${scope}</label><p class="soft small" id="${field}-hint">${wordsOf(scope)}</p></div>
<select id="${field}" name="${field}" aria-describedby="${field}-hint">${options}</select></div>`
})}
</fieldset>`
}

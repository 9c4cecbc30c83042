/** Tenants' regular expressions: made ready at upload, run in routing workers only. */

import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type Field, refuseField, textOf } from './fields.ts'

/** The source of a route, anchored as builders anchor it: `^` and `$` are added where the text lacks them. Undefined with a fault where it does not compile. */
export function sourceOf(field: Field): string | undefined {
  const text = textOf(field, { most: OUTPUT_LIMITS.pattern })
  if (text === undefined) return undefined
  const start = text.startsWith('^') ? '' : '^'
  const end = text.endsWith('$') ? '' : '$'
  return compiled(field, start + inJavaScript(text) + end)
}

/** A pattern for a whole value. Undefined with a fault where it does not compile. */
export function valuePatternOf(field: Field): string | undefined {
  const text = textOf(field, { most: OUTPUT_LIMITS.pattern })
  return text === undefined ? undefined : compiled(field, `^(?:${inJavaScript(text)})$`)
}

/** What begins no group: an escaped character, and a set of characters. Else what PCRE writes otherwise. */
const OF_PCRE = /\\.|\[(?:\\.|[^\]\\])*\]?|\(\?P<|\(\?i\)/gs

/** Builders wrote patterns for PCRE: names of groups have a `P` there, and sources ignore case anyway. */
function inJavaScript(text: string): string {
  return text.replace(OF_PCRE, (found) => (found === '(?P<' ? '(?<' : found === '(?i)' ? '' : found))
}

function compiled(field: Field, source: string): string | undefined {
  try {
    new RegExp(source)
    return source
  } catch (error) {
    const why = (error as Error).message.split(': ').at(-1)
    return refuseField(field, `is no regular expression: ${why}. Correct the pattern.`)
  }
}

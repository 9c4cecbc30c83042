/** Compiles tenants' regular expressions at upload. Only routing workers run them. */

import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type Field, refuseField, textOf } from './fields.ts'

/**
 * Returns the source of a route, anchored as builders do: adds missing `^` and `$`. The first slash may be missing: `api/.*`. If it does not compile,
 * adds an error and returns undefined.
 */
export function sourceOf(field: Field): string | undefined {
  const text = textOf(field, { max: OUTPUT_LIMITS.pattern })
  if (text === undefined) return undefined
  const [, rest = ''] = /^\^?(.*)$/s.exec(text)!
  const start = /^\w/.test(rest) ? '^/?' : '^'
  const end = text.endsWith('$') ? '' : '$'
  return compiled(field, start + inJavaScript(rest) + end)
}

/** Returns a pattern for a full value. If it does not compile, adds an error and returns undefined. */
export function valuePatternOf(field: Field): string | undefined {
  const text = textOf(field, { max: OUTPUT_LIMITS.pattern })
  return text === undefined ? undefined : compiled(field, `^(?:${inJavaScript(text)})$`)
}

/** Escapes and character sets come first, since they contain no groups. Then come forms that only PCRE has. */
const OF_PCRE = /\\.|\[(?:\\.|[^\]\\])*\]?|\(\?P<|\(\?i\)/gs

/** Builders write patterns for PCRE: group names have a `P`, and sources ignore case in any form. */
function inJavaScript(text: string): string {
  return text.replace(OF_PCRE, (found) => (found === '(?P<' ? '(?<' : found === '(?i)' ? '' : found))
}

function compiled(field: Field, source: string): string | undefined {
  try {
    new RegExp(source)
    return source
  } catch (error) {
    const why = (error as Error).message.split(': ').at(-1)
    return refuseField(field, `is not a regular expression: ${why}. Correct the pattern.`)
  }
}

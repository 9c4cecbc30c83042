/** Counts the values of a JSON text before it is parsed: `[{},{},…]` takes twenty times its bytes as objects. docs/limits.md: Sizes and timeouts. */
import { READERS } from '../../readers.ts'

/** Names, values and containers of one body. 1,000 variables with all fields have some 25,000. */
export const MAX_PARTS = READERS['JSON body of many'].parts
export const DEEPEST = 32

const QUOTE = 0x22
const BACKSLASH = 0x5c
const PART = 1
const OPENS = 2
const CLOSES = 3
const STRING = 4
/** Class of a byte outside of strings; 0: not counted. One lookup per byte, because most of a padded body is not counted. */
const KINDS = new Uint8Array(256)
for (const [kind, bytes] of [
  [PART, ',:'],
  [OPENS, '[{'],
  [CLOSES, ']}'],
  [STRING, '"'],
] as const)
  for (const byte of bytes) KINDS[byte.charCodeAt(0)] = kind

/**
 * Scans a JSON text once and returns its excess; undefined within the limits. Invalid JSON is counted up to the error, which is as far as a parser reads.
 */
export function excessOf(text: Uint8Array, max: number = MAX_PARTS): 'parts' | 'depth' | undefined {
  let parts = 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text[at]!]
    if (kind === 0) continue
    if (kind === STRING) at = endOfString(text, at)
    else if (kind === CLOSES) depth--
    else parts++
    if (kind === OPENS && ++depth > DEEPEST) return 'depth'
    if (parts > max) return 'parts'
  }
  return undefined
}

/** Parses a text of at most `max` parts. Returns a sentence where it is not JSON, has more parts, or is nested too deep. */
export function parseWeighed(text: string, max: number = MAX_PARTS): { value: unknown } | { sentence: string } {
  const excess = excessOf(Buffer.from(text), max)
  if (excess === 'parts') return { sentence: `has more than ${max} names, values and containers` }
  if (excess === 'depth') return { sentence: `is nested deeper than ${DEEPEST} levels` }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { sentence: 'should be JSON' }
  }
}

/** Returns the end of a string that begins at `at`. */
function endOfString(text: Uint8Array, at: number): number {
  let end = at + 1
  while (end < text.length && text[end] !== QUOTE) end += text[end] === BACKSLASH ? 2 : 1
  return end
}

/** Whether a value is at most `max` bytes as JSON; stops there. Escapes count as their characters. */
export function weighsAtMost(value: unknown, max: number): boolean {
  return leftOf(value, max) >= 0
}

/** Returns the bytes left after a value; negative if it is larger. */
function leftOf(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length - 2
  if (typeof value !== 'object' || value === null) return left - String(value).length
  let rest = left - 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) rest = leftOf(value[at], rest - (at === 0 ? 0 : 1))
    return rest
  }
  for (const [at, key] of Object.keys(value).entries()) {
    rest = leftOf((value as Record<string, unknown>)[key], rest - key.length - 3 - (at === 0 ? 0 : 1))
    if (rest < 0) return rest
  }
  return rest
}

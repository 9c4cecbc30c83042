/** What a JSON text becomes once it is parsed, counted before it is: `[{},{},…]` is twenty times its bytes as objects. docs/limits.md: Sizes and time. */
import { READERS } from '../../readers.ts'

/** Names, values and containers of one body. 1,000 variables with all that they may have are some 25,000. */
export const MAX_PARTS = READERS['JSON body of many'].parts
export const DEEPEST = 32

const QUOTE = 0x22
const BACKSLASH = 0x5c
const PART = 1
const OPENS = 2
const CLOSES = 3
const STRING = 4
/** What a byte is outside of a string; 0: it changes no count. One look-up a byte, for most of a padded body is nothing. */
const KINDS = new Uint8Array(256)
for (const [kind, bytes] of [
  [PART, ',:'],
  [OPENS, '[{'],
  [CLOSES, ']}'],
  [STRING, '"'],
] as const)
  for (const byte of bytes) KINDS[byte.charCodeAt(0)] = kind

/**
 * Reads a JSON text once, byte for byte, and gives why it is too much; undefined when it is not. A text that is no JSON is counted up to where it
 * stops being one, which is as far as a parser comes.
 */
export function excessOf(text: Uint8Array): 'parts' | 'depth' | undefined {
  let parts = 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const kind = KINDS[text[at]!]
    if (kind === 0) continue
    if (kind === STRING) at = endOfString(text, at)
    else if (kind === CLOSES) depth--
    else parts++
    if (kind === OPENS && ++depth > DEEPEST) return 'depth'
    if (parts > MAX_PARTS) return 'parts'
  }
  return undefined
}

/** Where a string ends that begins at `at`. */
function endOfString(text: Uint8Array, at: number): number {
  let end = at + 1
  while (end < text.length && text[end] !== QUOTE) end += text[end] === BACKSLASH ? 2 : 1
  return end
}

/** Whether a value is at most so many bytes as JSON; it is looked at no further than that. Escapes count as what they stand for. */
export function weighsAtMost(value: unknown, most: number): boolean {
  return leftOf(value, most) >= 0
}

/** What is left of so many bytes behind a value; below 0 when it is more. */
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

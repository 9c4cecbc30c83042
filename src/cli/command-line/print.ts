/** What a command says, as a terminal may have it. docs/threats.md T166. */
import type { Writable } from 'node:stream'

/** Other machines and other people chose parts of every text: these characters move a cursor, end a line, or turn the direction of what follows. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g
/** As `CONTROLS`, with tabs and the ends of lines. */
const CONTROLS_OF_A_LINE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

/** Writes a text of one or more lines; each control character is a `?`. Every word of every command goes this way, but for what is `exact`. */
export function print(out: Writable, text: string, done?: (error?: Error | null) => void): void {
  out.write(text.replaceAll(CONTROLS, '?'), done)
}

/** What must stay within its line, such as a name or a sentence of another machine: it makes no line of its own. */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROLS_OF_A_LINE, '?')
}

/** JSON for people and programs, in which control characters are escaped: JSON itself escapes only those below the space. */
export function jsonText(data: unknown): string {
  return JSON.stringify(data, null, 2).replaceAll(
    CONTROLS,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

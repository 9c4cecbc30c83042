/** Terminal-safe output of commands. docs/threats.md T166. */
import type { Writable } from 'node:stream'

/** Other servers and users chose parts of the texts: these characters move the cursor, end a line, or change the text direction. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g
/** As `CONTROLS`, with tabs and line ends. */
const CONTROLS_OF_A_LINE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

/** Writes a text of one or more lines, with a `?` for each control character. All command output uses it, except `exact` texts. */
export function print(out: Writable, text: string, done?: (error?: Error | null) => void): void {
  out.write(text.replaceAll(CONTROLS, '?'), done)
}

/** Returns a text without line ends, such as a name or a message of another server. */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROLS_OF_A_LINE, '?')
}

/** Returns JSON with escaped control characters: JSON itself escapes only those below the space. */
export function jsonText(data: unknown): string {
  return JSON.stringify(data, null, 2).replaceAll(
    CONTROLS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The output of a function as lines of its log. Pure except for stream state. docs/functions.md: Log. */
import { LINE_MARK } from '../../launcher/protocol.ts'

/** `requestId`: empty where it is not known. */
export type FunctionLine = { stream: 'stdout' | 'stderr'; requestId: string; text: string }

const MAX_LINE = 16 * 1024
/** For a marked line: JSON may need six characters for one. */
const MAX_HELD = 8 * MAX_LINE
/** In time a line costs as much as these characters. */
const CHARACTERS_OF_LINE = 64
const ID = /^[\w:-]{0,100}$/

/** Returns the units of a text by its characters and lines. Pure. */
export function unitsOf(lines: number, characters: number): number {
  return lines + characters / CHARACTERS_OF_LINE
}

/** Returns a reader of output, which calls `take` for each line. `write` returns the units of the text. `end` is called at the end of the output. */
export function readLines(take: (line: FunctionLine) => void): { write(text: string): number; end(): void } {
  let held = ''
  const end = () => {
    if (held !== '') take(readLine(held))
    held = ''
  }
  return {
    end,
    write(text) {
      let [from, lines] = [0, 0]
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', from)) {
        held += text.slice(from, Math.min(at, from + MAX_HELD))
        take(readLine(held))
        held = ''
        from = at + 1
        lines++
      }
      held += text.slice(from, from + MAX_HELD)
      if (held.length >= MAX_HELD) end()
      return unitsOf(lines, text.length)
    },
  }
}

/** Reads one line. Output of programs that the function started has no mark. */
export function readLine(line: string): FunctionLine {
  const [, stream, requestId = '', json = ''] = /^\u001e([oe]) (\S*) (.*)$/s.exec(line) ?? []
  const text = stream === undefined ? undefined : parsed(json)
  if (text === undefined || !ID.test(requestId))
    return { stream: 'stdout', requestId: '', text: shown(line.replaceAll(LINE_MARK, '')) }
  return { stream: stream === 'e' ? 'stderr' : 'stdout', requestId, text: shown(text) }
}

/** Undefined if the line was truncated, or if the function itself wrote a marked line. */
function parsed(json: string): string | undefined {
  try {
    const text: unknown = JSON.parse(json)
    return typeof text === 'string' ? text : undefined
  } catch {
    return undefined
  }
}

/** Tabs, line ends and colors stay; other control characters could hide text in a terminal. */
function shown(text: string): string {
  return text
    .slice(0, MAX_LINE)
    .replace(/[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g, '')
    .toWellFormed()
}

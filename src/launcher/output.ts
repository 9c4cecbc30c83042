/** Lines that the function writes get a mark with their stream and request, which the sites server reads. docs/functions.md: Log. */
import { LINE_MARK } from './protocol.ts'
import { currentContext } from './request-context.ts'

/** A message without a line end is sent at the next one, or at this length. */
const MAX_HELD = 16 * 1024

type Write = typeof process.stdout.write

/** Marks what is written to standard output and standard error from now on. Returns what writes an error into the log of the function. */
export function markOutput(): (text: string) => void {
  mark(process.stdout, 'o')
  const write = mark(process.stderr, 'e')
  return (text) => void write(`${text}\n`)
}

function mark(stream: NodeJS.WriteStream, name: string): Write {
  const write = stream.write.bind(stream) as Write
  let held = ''
  const marked = ((chunk: unknown, encoding?: unknown, done?: unknown) => {
    const callback = [encoding, done].find((argument) => typeof argument === 'function') as (() => void) | undefined
    held += textOf(chunk, encoding)
    if (!held.endsWith('\n') && held.length < MAX_HELD) {
      callback?.()
      return true
    }
    const text = held.replace(/\n$/, '')
    held = ''
    // As JSON a message of several lines is one line.
    return write(`${LINE_MARK}${name} ${currentContext()?.id ?? ''} ${JSON.stringify(text)}\n`, callback)
  }) as Write
  stream.write = marked
  return marked
}

function textOf(chunk: unknown, encoding: unknown): string {
  if (typeof chunk === 'string') {
    const isText = typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)
    return isText ? chunk : Buffer.from(chunk, encoding as BufferEncoding).toString()
  }
  return Buffer.from(chunk as Uint8Array).toString()
}

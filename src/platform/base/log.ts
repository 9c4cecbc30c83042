/** The log: JSON lines on stdout, or lines for eyes on a terminal. A log that cannot be written is no reason to stop. docs/operations.md. */
import { write, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

/** Characters that wait for a reader that does not read; what comes on top is dropped. */
const MAX_WAITING = 4 * 1024 * 1024
/** A reader that did not take what it was given for so long is not waited for when the process ends. */
const STUCK_MS = 1000
const AGAIN_MS = 50

const STREAMS = new WeakMap<Logger, ReturnType<typeof openStream>>()

/** Opens the log of the process. */
export async function openLog(level: string): Promise<Logger> {
  // Whoever read the greeting may be gone before its last line.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  if (process.stdout.isTTY) {
    // Colours as NO_COLOR and the kind of terminal have it.
    const { default: pretty } = await import('pino-pretty')
    return pino(logOptions(level), pretty({ colorize: process.stdout.hasColors(), ignore: 'pid,hostname', sync: true }))
  }
  const stream = openStream(1)
  process.on('exit', stream.flushSync)
  const log = pino(logOptions(level), stream)
  STREAMS.set(log, stream)
  return log
}

/** What the log is told of an error: what it is and where it was thrown. What else a driver hangs on it may be somebody's data. */
export function logOptions(level: string) {
  return { level, serializers: { err: (error: unknown) => showError(error) } }
}

/** Lines that could not be written, because nobody reads them or the disk is full. */
export function droppedLines(log: Logger): number {
  return STREAMS.get(log)?.dropped() ?? 0
}

type LoggedError = { type: string; message: string; code?: unknown; stack?: string | undefined; because?: LoggedError }

function showError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'something that is no error was thrown' }
  const { name, message, code, stack, cause } = error as NodeJS.ErrnoException
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause !== undefined && depth < 3 && { because: showError(cause, depth + 1) }),
  }
}

/**
 * Writes to a file or pipe in the background. Ours rather than pino's, whose last words wait for ever for a pipe that is
 * closed or full (docs/operations.md: The log writes itself).
 */
function openStream(file: number) {
  let buffer = ''
  let dropped = 0
  let busySince: number | undefined
  let closed = false
  const drop = (text: string) => {
    dropped += text.split('\n').length - 1
  }
  const send = (bytes: Buffer) => {
    write(file, bytes, (error, bytesWritten) => {
      if (error?.code === 'EAGAIN') return void setTimeout(send, AGAIN_MS, bytes)
      if (error) drop(bytes.toString())
      else if (bytesWritten < bytes.length) return send(bytes.subarray(bytesWritten))
      closed ||= error?.code === 'EPIPE'
      sendWaiting()
    })
  }
  const sendWaiting = () => {
    const text = buffer
    buffer = ''
    busySince = text === '' ? undefined : performance.now()
    if (text !== '') send(Buffer.from(text))
  }
  return {
    dropped: () => dropped,
    write(line: string) {
      if (closed || buffer.length + line.length > MAX_WAITING) return drop(line)
      buffer += line
      if (busySince !== undefined) return
      // After this turn of the event loop: its lines are written together. The last lines of a process are written at once.
      busySince = performance.now()
      setImmediate(sendWaiting)
    },
    /** What waits, at once, when the process ends. */
    flushSync() {
      const text = buffer
      buffer = ''
      if (closed || text === '' || performance.now() - (busySince ?? 0) > STUCK_MS) return
      try {
        writeSync(file, text)
      } catch {
        drop(text)
      }
    },
  }
}

/** Says why the process ends, and ends it with 1. */
export function exitWithError(log: Logger, error: unknown, sentence: string): never {
  log.fatal({ err: error }, sentence)
  process.exit(1)
}

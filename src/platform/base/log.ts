/** The log: JSON lines on stdout, or readable lines on a terminal. A failing log does not stop the service. docs/operations.md. */
import { write, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

/** Buffered characters for a slow reader; more are dropped. */
const MAX_WAITING = 4 * 1024 * 1024
/** At exit, a reader that was stuck for this long is not awaited. */
const STUCK_MS = 1000
const AGAIN_MS = 50

const STREAMS = new WeakMap<Logger, ReturnType<typeof openStream>>()

/** Opens the log of the process. */
export async function openLog(level: string): Promise<Logger> {
  // The reader of a pipe may close it early.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  if (process.stdout.isTTY) {
    // Colors follow NO_COLOR and the terminal.
    const { default: pretty } = await import('pino-pretty')
    return pino(logOptions(level), pretty({ colorize: process.stdout.hasColors(), ignore: 'pid,hostname', sync: true }))
  }
  const stream = openStream(1)
  process.on('exit', stream.flushSync)
  const log = pino(logOptions(level), stream)
  STREAMS.set(log, stream)
  return log
}

/** Returns log options that keep only the type, message and origin of an error. Other fields of driver errors may contain user data. */
export function logOptions(level: string) {
  return { level, serializers: { err: (error: unknown) => showError(error) } }
}

/** Returns how many lines were dropped because the reader is slow or the disk is full. */
export function droppedLines(log: Logger): number {
  return STREAMS.get(log)?.dropped() ?? 0
}

type LoggedError = { type: string; message: string; code?: unknown; stack?: string | undefined; because?: LoggedError }

function showError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'a value that is not an error was thrown' }
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
 * Writes to a file or pipe in the background. Pino's own stream blocks for ever at exit on a closed or full pipe (docs/operations.md: The log writes
 * itself).
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
      // Lines of one event loop turn are written together. At exit they are written at once.
      busySince = performance.now()
      setImmediate(sendWaiting)
    },
    /** Writes the buffer synchronously, at exit. */
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

/** Logs the reason and exits with status 1. */
export function exitWithError(log: Logger, error: unknown, sentence: string): never {
  log.fatal({ err: error }, sentence)
  process.exit(1)
}

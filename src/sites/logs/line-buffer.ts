/** Lines of functions in memory, until they are reported. Pure but for its state. docs/functions.md: Log. */
import { type LogLine, MAX_LOG_TEXT } from '../../delivery/protocol/log-report.ts'

/** What a line says of the request in which it was written. */
export type RequestFacts = Pick<LogLine, 'requestId' | 'method' | 'host' | 'path'>
type Mask = (text: string) => string
type Written = Pick<LogLine, 'level' | 'text' | 'requestId'>

/** TABLE bounds of the lines of one sites server. */
export const LOG_BOUNDS = {
  /** Of lines of a deployment in a minute. */
  minuteBytes: 1024 * 1024,
  /** Of all lines that wait for the control plane. */
  heldBytes: 8 * 1024 * 1024,
  /** That a line counts in addition to its text. */
  perLine: 256,
} as const

export type LineBuffer = {
  /** Adds a line, masked. One above a bound is counted instead. */
  add(deploymentId: string, line: Written, mask?: Mask): void
  /** Notes a request. Call the result with its status: 0 for a visitor who left. */
  begin(deploymentId: string, facts: RequestFacts): (status: number) => void
  /** Removes and returns the oldest lines: at most `max`, with at most `bytes` of text. */
  take(max: number, bytes: number): LogLine[]
}

/** Facts change until the answer: a line that is taken later has its status. */
type Running = RequestFacts & { status: number; lines: number }
type Held = Omit<Written, 'requestId'> & { deploymentId: string; date: number; of: Running }
type Minute = { at: number; bytes: number; dropped: number }

const UNKNOWN = { method: '', host: '', path: '', status: 0, lines: 0 }

type Bounds = Readonly<Record<keyof typeof LOG_BOUNDS, number>>

/** Creates a buffer. */
export function createLineBuffer(bounds: Bounds = LOG_BOUNDS, now = Date.now): LineBuffer {
  const running = new Map<string, Running>()
  const { keep, take } = createKept(bounds, now)
  return {
    add(deploymentId, { level, text, requestId }, mask) {
      const of = running.get(`${deploymentId} ${requestId}`) ?? { ...UNKNOWN, requestId }
      keep(deploymentId, level, text.slice(0, MAX_LOG_TEXT).toWellFormed(), of, mask)
    },
    begin(deploymentId, facts) {
      const key = `${deploymentId} ${facts.requestId}`
      const of: Running = { ...facts, status: 0, lines: 0 }
      running.set(key, of)
      return (status) => {
        running.delete(key)
        of.status = status
        if (of.lines === 0) keep(deploymentId, status >= 500 ? 'error' : 'info', '', of)
      }
    },
    take: (max, bytes) => take(max, bytes).map(lineOf),
  }
}

/** Lines within the bounds, and how many of each deployment were not. */
function createKept(bounds: Bounds, now: () => number) {
  const minutes = new Map<string, Minute>()
  const minuteNow = () => Math.floor(now() / 60_000)
  let lines: Held[] = []
  let held = 0
  const sizeOf = (text: string) => Buffer.byteLength(text) + bounds.perLine
  const push = (line: Omit<Held, 'date'>) => {
    held += sizeOf(line.text)
    lines.push({ ...line, date: now() })
  }
  const reportDropped = () => {
    for (const [deploymentId, minute] of minutes) {
      const text = `${minute.dropped} lines were dropped here: a deployment may write 1 MiB in a minute.`
      if (minute.dropped > 0) push({ deploymentId, level: 'warning', text, of: { ...UNKNOWN, requestId: '' } })
      minute.dropped = 0
      if (minute.at !== minuteNow()) minutes.delete(deploymentId)
    }
  }
  return {
    keep(deploymentId: string, level: LogLine['level'], text: string, of: Running, mask: Mask = (same) => same) {
      const at = minuteNow()
      const minute = minutes.getOrInsertComputed(deploymentId, () => ({ at, bytes: 0, dropped: 0 }))
      if (minute.at !== at) Object.assign(minute, { at, bytes: 0 })
      const size = sizeOf(text)
      if (minute.bytes + size > bounds.minuteBytes || held + size > bounds.heldBytes) return void minute.dropped++
      minute.bytes += size
      of.lines++
      // Masking costs more than counting, so a flood is not masked.
      push({ deploymentId, level, text: mask(text), of })
    },
    take(max: number, bytes: number): Held[] {
      // A warning waits for its place as lines do.
      if (held < bounds.heldBytes) reportDropped()
      let [count, size] = [0, 0]
      while (count < lines.length && count < max && (count === 0 || size + sizeOf(lines[count]!.text) <= bytes))
        size += sizeOf(lines[count++]!.text)
      const batch = lines.slice(0, count)
      lines = lines.slice(count)
      held -= size
      return batch
    },
  }
}

function lineOf({ deploymentId, date, level, text, of }: Held): LogLine {
  const { requestId, method, host, path, status } = of
  return { deploymentId, date, level, text, requestId, method, host, path, status }
}

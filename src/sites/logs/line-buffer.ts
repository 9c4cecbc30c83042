/** Lines of functions in memory, until they are reported. Pure but for its state. docs/functions.md: Log. */
import { type LogLine, MAX_FUNCTION_NAME, MAX_LOG_TEXT } from '../../delivery/protocol/log-report.ts'

/** What a line says of the request in which it was written. */
export type RequestFacts = Pick<LogLine, 'requestId' | 'method' | 'host' | 'path'>
/** Who writes. `bundle`: the function. */
export type LineOwner = { deploymentId: string; account: string; bundle?: { name: string } }
type Mask = (text: string) => string
type Written = Pick<LogLine, 'level' | 'text' | 'requestId'>

/** TABLE bounds of the lines of one sites server. */
export const LOG_BOUNDS = {
  /** Of lines of a deployment in a minute. */
  minuteBytes: 1024 * 1024,
  /** Of all lines that wait for the control plane. An account has no more of them than are left free, so that others lose no lines to it. */
  heldBytes: 8 * 1024 * 1024,
  /** That a line counts in addition to its text. */
  perLine: 256,
} as const

export type LineBuffer = {
  /** Adds a line, masked. One above a bound is counted instead. */
  add(owner: LineOwner, line: Written, mask?: Mask): void
  /** Notes a request. Call the result with its status: 0 for a visitor who left. */
  begin(owner: LineOwner, facts: RequestFacts): (status: number) => void
  /** Removes and returns the oldest lines: at most `max`, with at most `bytes` of text. */
  take(max: number, bytes: number): LogLine[]
}

/** Facts change until the answer: a line that is taken later has its status. */
type Running = RequestFacts & { status: number; lines: number }
type Held = Omit<Written, 'requestId'> & LineOwner & { date: number; of: Running }
type Minute = LineOwner & { at: number; bytes: number; dropped: number }

const WHY_DROPPED = 'a deployment may write 1 MiB in a minute, and an account 4 MiB until they are sent.'
const NOTHING = { bytes: 0, dropped: 0 }
const UNKNOWN = { method: '', host: '', path: '', status: 0, lines: 0 }

type Bounds = Readonly<Record<keyof typeof LOG_BOUNDS, number>>

/** Creates a buffer. */
export function createLineBuffer(bounds: Bounds = LOG_BOUNDS, now = Date.now): LineBuffer {
  const running = new Map<string, Running>()
  const { keep, take } = createKept(bounds, now)
  return {
    add(owner, { level, text, requestId }, mask) {
      const of = running.get(`${owner.deploymentId} ${requestId}`) ?? { ...UNKNOWN, requestId }
      keep(owner, level, text.slice(0, MAX_LOG_TEXT).toWellFormed(), of, mask)
    },
    begin(owner, facts) {
      const key = `${owner.deploymentId} ${facts.requestId}`
      const of: Running = { ...facts, status: 0, lines: 0 }
      running.set(key, of)
      return (status) => {
        running.delete(key)
        of.status = status
        if (of.lines === 0) keep(owner, status >= 500 ? 'error' : 'info', '', of)
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
  const held = createHeld(bounds.heldBytes)
  const sizeOf = (text: string) => Buffer.byteLength(text) + bounds.perLine
  const push = (line: Omit<Held, 'date'>) => {
    held.count(line.account, sizeOf(line.text))
    lines.push({ ...line, date: now() })
  }
  const reportDropped = () => {
    for (const [deploymentId, minute] of minutes) {
      const { account, dropped } = minute
      const text = `${dropped} lines were dropped here: ${WHY_DROPPED}`
      if (dropped > 0) push({ deploymentId, account, level: 'warning', text, of: { ...UNKNOWN, requestId: '' } })
      minute.dropped = 0
      if (minute.at !== minuteNow()) minutes.delete(deploymentId)
    }
  }
  return {
    keep(
      { deploymentId, account, bundle }: LineOwner,
      level: LogLine['level'],
      text: string,
      of: Running,
      mask?: Mask,
    ) {
      const at = minuteNow()
      const minute = minutes.getOrInsertComputed(deploymentId, () => ({ deploymentId, account, at, ...NOTHING }))
      if (minute.at !== at) Object.assign(minute, { at, bytes: 0 })
      const size = sizeOf(text)
      if (minute.bytes + size > bounds.minuteBytes || !held.fits(account, size)) return void minute.dropped++
      minute.bytes += size
      of.lines++
      // Masking costs more than counting, so a flood is not masked.
      push({ deploymentId, account, ...(bundle && { bundle }), level, text: mask?.(text) ?? text, of })
    },
    take(max: number, bytes: number): Held[] {
      // A warning waits for its place as lines do.
      if (!held.isFull()) reportDropped()
      let [end, size] = [0, 0]
      while (end < lines.length && end < max && (end === 0 || size + sizeOf(lines[end]!.text) <= bytes))
        size += sizeOf(lines[end++]!.text)
      const batch = lines.slice(0, end)
      lines = lines.slice(end)
      for (const { account, text } of batch) held.count(account, -sizeOf(text))
      return batch
    },
  }
}

/** Counts the bytes that are held. An account has no more of them than are left free. */
function createHeld(max: number) {
  const ofAccounts = new Map<string, number>()
  let all = 0
  return {
    isFull: () => all >= max,
    fits: (account: string, bytes: number) => all + (ofAccounts.get(account) ?? 0) + bytes <= max,
    count(account: string, bytes: number) {
      all += bytes
      const own = (ofAccounts.get(account) ?? 0) + bytes
      if (own === 0) ofAccounts.delete(account)
      else ofAccounts.set(account, own)
    },
  }
}

function lineOf({ deploymentId, bundle, date, level, text, of }: Held): LogLine {
  const { requestId, method, host, path, status } = of
  const line = { deploymentId, date, level, text, requestId, method, host, path, status }
  return bundle === undefined ? line : { ...line, functionName: bundle.name.slice(0, MAX_FUNCTION_NAME).toWellFormed() }
}

/** Counts what each owner takes of the limits of `limits.ts`: in memory, by each instance for itself. docs/limits.md. */
import { LIMITS, type Limit, type LimitName, type LimitSettings } from './limits.ts'
import { Refusal } from './refusal.ts'
import { counted } from './words.ts'

/** What is asked of the limiter: how many, of how many, until when. */
type Count = { name: LimitName; total: number; seconds: number; remaining: number; endsAt: number; exceeded: boolean }

export type Limiter = {
  /** The group of an operation of the public API. */
  groupOf(route: { operationId: string; method: string }): LimitName
  /** Takes one, or `count` or none, of what `owner` has. Undefined where nothing is limited. */
  take(name: LimitName, owner: string, now: number, count?: number): Count | undefined
  /** Gives back what was taken for something that does not count after all. */
  giveBack(name: LimitName, owner: string, count?: number): void
}

type Window = { used: number; endsAt: number }

/** Windows of a group: the newer ones, and those of before, of which nobody has been heard since. */
type Windows = { newer: Map<string, Window>; older: Map<string, Window> }

/** Requests look at the clock when they begin, and are counted in another order. By more than this the clock was set back. */
const SET_BACK_MS = 10_000

/** So many owners are known in each group at the least, and twice as many at the most. */
const KNOWN = 10_000

/** Nothing is counted yet. */
export function openLimiter(settings: LimitSettings): Limiter {
  const groups = new Map<string, LimitName>()
  const counters = new Map<LimitName, { row: Limit; windows: Windows }>()
  for (const [name, row] of Object.entries(LIMITS) as [LimitName, Limit][]) {
    for (const operation of row.of ?? []) groups.set(operation, name)
    const limit: Limit = settings === 'off' ? { total: null, seconds: 60 } : (settings[name] ?? row)
    if (limit.total !== null) counters.set(name, { row: limit, windows: { newer: new Map(), older: new Map() } })
  }
  return {
    groupOf: ({ operationId, method }) => groups.get(operationId) ?? (method === 'GET' ? 'read' : 'write'),
    take(name, owner, now, count = 1) {
      const counter = counters.get(name)
      if (counter === undefined) return undefined
      const { total, seconds } = counter.row as { total: number; seconds: number }
      const window = windowOf(counter.windows, owner, now, seconds * 1000)
      const exceeded = window.used + count > total
      if (!exceeded) window.used += count
      return { name, total, seconds, remaining: total - window.used, endsAt: window.endsAt, exceeded }
    },
    giveBack(name, owner, count = 1) {
      const windows = counters.get(name)?.windows
      const window = windows?.newer.get(owner) ?? windows?.older.get(owner)
      if (window !== undefined) window.used = Math.max(0, window.used - count)
    },
  }
}

function windowOf(windows: Windows, owner: string, now: number, lengthMs: number): Window {
  const newer = windows.newer.get(owner)
  const current = newer ?? windows.older.get(owner)
  // One that ends later than any could was begun before the clock was set back.
  const runs = current !== undefined && current.endsAt > now && current.endsAt <= now + lengthMs + SET_BACK_MS
  if (runs && newer !== undefined) return newer
  const window = runs ? current : { used: 0, endsAt: now + lengthMs }
  if (newer === undefined && windows.newer.size >= KNOWN) {
    windows.older = windows.newer
    windows.newer = new Map()
  }
  windows.newer.set(owner, window)
  return window
}

/** What an answer says of the limit that it counts against: as upstream does, and as the IETF draft does. */
export function limitHeaders({ name, total, seconds, remaining, endsAt }: Count, now: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(total),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(endsAt / 1000)),
    ratelimit: `"${name}";r=${remaining};t=${secondsUntil(endsAt, now)}`,
    'ratelimit-policy': `"${name}";q=${total};w=${seconds}`,
  }
}

/** Refuses with rate_limited 429 when what was taken was not there any more. `what`: of what there was too much. */
export function mustBeLeft(count: Count | undefined, now: number, what = 'requests'): void {
  if (!count?.exceeded) return
  const { name, total, seconds, endsAt } = count
  const wait = secondsUntil(endsAt, now)
  throw new Refusal(
    'rate_limited',
    `Too many ${what} - try again in ${counted(wait, 'second')} (more than ${total} in ${counted(seconds, 'second')}).`,
    { name, limit: { total, remaining: 0, reset: Math.ceil(endsAt / 1000), resetMs: endsAt } },
    { ...limitHeaders(count, now), 'retry-after': String(wait) },
  )
}

function secondsUntil(endsAt: number, now: number): number {
  return Math.max(1, Math.ceil((endsAt - now) / 1000))
}

/**
 * Counts a limit across instances, in PostgreSQL. An instance acquires allocations and consumes them locally, so that few requests write. Failed
 * attempts are consumed one at a time. docs/limits.md: Several instances.
 */

import type { AllocationRequest, allocate, refundAllocation } from './allocation.ts'
import type { Counter, EffectiveLimit, RemainingLimit } from './counter.ts'
import { createWindows, type Windows } from './windows.ts'

/** An instance consumes this share of a limit before it calls the database. Four instances thus exceed a limit by at most 8 %. */
const UNALLOCATED_SHARE = 1 / 100
/** First allocation of a window. Each further one doubles, so that a rarely used instance holds little. */
const FIRST_PORTION = 1 / 64
/** Largest allocation, as a share of the rest, so that other instances get some of a small rest. */
const MAX_PORTION = 1 / 8
/** Time between retries of an unavailable database. Until then each instance counts alone. */
const AWAY_MS = 1000

type Window = {
  endsAt: number
  /** Left of the allocation of this instance. */
  local: number
  /** Unallocated rest, as last read. */
  room: number
  /** Consumed without an allocation, and not yet reported to the database. */
  unreported: number
  /** Whether the database has the window. */
  isShared: boolean
  portion: number
  /** Amount that waiting requests need, and the statement that they wait for. */
  waiting: number
  asking: Promise<void> | undefined
}

export type AllocationStore = {
  allocate(portion: AllocationRequest): ReturnType<typeof allocate>
  refund(portion: Parameters<typeof refundAllocation>[1]): Promise<void>
  /** Whether an error means that the database takes no writes now. */
  isUnavailable(error: unknown): boolean
}

/** Creates a counter over the database. All limits of a process share `away`, the time until which the database is not called. */
export function createDatabaseCounter(
  limit: EffectiveLimit,
  portions: AllocationStore,
  away: { until: number },
): Counter {
  const { total, seconds, failures = false, refundable = false } = limit
  const unasked = failures ? 0 : Math.floor(total * UNALLOCATED_SHARE)
  const windows: Windows<Window> = createWindows(seconds * 1000, (endsAt) => ({
    endsAt,
    local: unasked,
    room: total - unasked,
    unreported: 0,
    isShared: false,
    portion: Math.ceil(total * FIRST_PORTION),
    waiting: 0,
    asking: undefined,
  }))
  const ask = (owner: string, window: Window, now: number, need: number) =>
    requestAllocation({ limit, portions, away }, owner, window, { now, need })

  const takeAsking = async (owner: string, now: number, count: number): Promise<RemainingLimit> => {
    const window = windows.current(owner, now)
    window.waiting += count
    try {
      for (let isSecond = false; ; isSecond = true) {
        const left = consumeLocally(window, count)
        if (left !== undefined) return left
        const need = count - window.local
        // Refunds of other instances are known only to the database.
        if (window.room < need && (isSecond || !refundable)) return leftOf(window, true)
        window.asking ??= ask(owner, window, now, need).finally(() => {
          window.asking = undefined
        })
        await window.asking
      }
    } finally {
      window.waiting -= count
    }
  }
  return {
    consume: (owner, now, count) => consumeLocally(windows.current(owner, now), count) ?? takeAsking(owner, now, count),
    async refund(owner, now, count) {
      await portions.refund({ name: limit.name, owner, now, count })
      const window = windows.find(owner)
      if (window !== undefined) window.room += count
    },
  }
}

function consumeLocally(window: Window, count: number): RemainingLimit | undefined {
  if (window.local < count) return undefined
  window.local -= count
  if (!window.isShared) window.unreported += count
  return leftOf(window, false)
}

function leftOf({ room, local, endsAt }: Window, exceeded: boolean): RemainingLimit {
  return { remaining: Math.max(0, room) + local, endsAt, exceeded }
}

type Asking = { limit: EffectiveLimit; portions: AllocationStore; away: { until: number } }

/** Acquires an allocation for all waiters, at least `need`. While the database is unavailable, the instance counts alone and reports later. */
async function requestAllocation(
  { limit, portions, away }: Asking,
  owner: string,
  window: Window,
  { now, need }: { now: number; need: number },
): Promise<void> {
  // Unused consumption from before the window was shared lapses: no other instance lost it.
  if (!window.isShared) {
    window.room += window.local
    window.local = 0
  }
  const portion = limit.failures ? 0 : Math.min(window.portion, Math.ceil(window.room * MAX_PORTION))
  const want = Math.max(need, portion, window.waiting - window.local)
  const { unreported } = window
  const { name, total, seconds } = limit
  try {
    if (performance.now() < away.until) return consumeOffline(window, need, want)
    const key = { name, owner, now, lengthMs: seconds * 1000, total }
    const row = await portions.allocate({ ...key, unreported, need, want, isDurable: limit.failures === true })
    window.unreported -= unreported
    window.isShared = true
    window.local += row.granted
    window.room = total - row.used
    window.endsAt = row.ends_at
    window.portion *= 2
  } catch (error) {
    if (!portions.isUnavailable(error)) throw error
    away.until = performance.now() + AWAY_MS
    consumeOffline(window, need, want)
  }
}

function consumeOffline(window: Window, need: number, want: number): void {
  if (window.room < need) return
  const granted = Math.min(want, window.room)
  window.room -= granted
  window.local += granted
  window.isShared = false
}

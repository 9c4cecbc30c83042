/**
 * Counts one limit over all instances, in PostgreSQL. An instance takes portions of what an owner has, and gives them out without asking, so that few
 * requests write. What may be a guess is taken one by one. docs/limits.md: Several instances.
 */

import type { AllocationRequest, allocate, refundAllocation } from './allocation.ts'
import type { Counter, EffectiveLimit, RemainingLimit } from './counter.ts'
import { createWindows, type Windows } from './windows.ts'

/** An instance that is asked seldom gives out this share of a limit before it asks the database. So four instances give at most 8 % more. */
const UNALLOCATED_SHARE = 1 / 100
/** The first portion of a window. Each further one is twice as large: an instance that is asked seldom keeps little from the others. */
const FIRST_PORTION = 1 / 64
/** And never more than this share of what is left, so that nothing is kept from the others when little is. */
const MAX_PORTION = 1 / 8
/** A database that takes no writes is asked again after this time. Until then each instance counts for itself. */
const AWAY_MS = 1000

type Window = {
  endsAt: number
  /** What this instance may give out without asking. */
  local: number
  /** What nobody has taken yet, as far as is known. */
  room: number
  /** What was given out and is not told to the database yet. */
  unreported: number
  /** Whether the database knows of the window. */
  isShared: boolean
  portion: number
  /** What requests wait for, and the statement that they wait for. */
  waiting: number
  asking: Promise<void> | undefined
}

/** The database, as a counter asks it. */
export type AllocationStore = {
  allocate(portion: AllocationRequest): ReturnType<typeof allocate>
  refund(portion: Parameters<typeof refundAllocation>[1]): Promise<void>
  /** Whether an error says that the database takes no writes now. */
  isUnavailable(error: unknown): boolean
}

/** Counts by the database. All limits of a process share `away`, which says until when the database is not asked. */
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
      for (let asked = false; ; asked = true) {
        const left = consumeLocally(window, count)
        if (left !== undefined) return left
        const need = count - window.local
        // What others give back is not known here, so the database is asked.
        if (window.room < need && (asked || !refundable)) return leftOf(window, true)
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

/** Takes a portion for all that wait, `need` at the least. While the database takes no writes, the instance counts for itself and tells it later. */
async function requestAllocation(
  { limit, portions, away }: Asking,
  owner: string,
  window: Window,
  { now, need }: { now: number; need: number },
): Promise<void> {
  // What was not given out before the database knew of the window lapses: it was never taken from anybody.
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

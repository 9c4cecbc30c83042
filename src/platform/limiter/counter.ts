/** What counts: in memory, or in the database. docs/limits.md. */
import type { Limit, LimitName } from '../../limits.ts'

/** What is left of a limit after something was taken, or was not there to be taken. `endsAt`: of the window, in ms. */
export type RemainingLimit = { remaining: number; endsAt: number; exceeded: boolean }

export type Sooner<T> = T | Promise<T>

/** A limit that has a figure. */
export type EffectiveLimit = Limit & { name: LimitName; total: number }

/** Counts for one limit. */
export type Counter = {
  consume(owner: string, now: number, count: number): Sooner<RemainingLimit>
  refund(owner: string, now: number, count: number): Sooner<void>
}

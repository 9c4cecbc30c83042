/** The interface of rate limit counters. docs/limits.md. */
import type { Limit, LimitName } from '../../limits.ts'

/** `endsAt`: end of the window, in ms. */
export type RemainingLimit = { remaining: number; endsAt: number; exceeded: boolean }

export type Sooner<T> = T | Promise<T>

/** A limit that is on. */
export type EffectiveLimit = Limit & { name: LimitName; total: number }

export type Counter = {
  consume(owner: string, now: number, count: number): Sooner<RemainingLimit>
  refund(owner: string, now: number, count: number): Sooner<void>
}

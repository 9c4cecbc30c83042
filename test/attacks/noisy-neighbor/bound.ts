/** How long a neighbor may wait during an attack. docs/threats.md. */
import { FULL } from '../form.ts'
import type { Measured } from './meter.ts'

export const MAX_MS = 100
/** The short form has few samples and a service that has just started, on whatever machine: it looks for stalls. */
export const BOUND_MS = FULL ? MAX_MS : 5 * MAX_MS
/** A machine on which the neighbor alone has a longer p90 is slow or busy: what may be felt of an attack is longer in proportion. */
const MAX_ALONE_MS = 15
/** What a machine does of its own (another one takes its processors for half a second) is not there each time, and what an attack does is. */
export const ROUNDS = 3

/** Returns the longest p99 of a neighbor, by what it felt alone. */
export function boundOf(alone: Measured): number {
  return BOUND_MS * Math.max(1, alone.p90 / MAX_ALONE_MS)
}

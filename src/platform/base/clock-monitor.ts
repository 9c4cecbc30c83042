/** Whether the clock can be believed when it says that something is old. docs/spec/reliability.md F19, T53; docs/decisions/0053. */

const HOUR_MS = 3_600_000
/** A clock that goes on steadily for so long after a jump is right: it was wrong before. */
const STEADY_MS = 24 * HOUR_MS
/** Clocks are corrected by less than this all the time. */
const JUMP_MS = HOUR_MS

type Doubt = {
  doubted: boolean
  /** True the first time that this jump is seen. */
  began: boolean
  jumpMs: number
}

/** Told what the clock says, and how much time has passed by a count that nobody can set. */
export type ClockMonitor = (now: number, passed: number) => Doubt

/**
 * Watches a clock. One that runs ahead or back by more than an hour against the time that passes is doubted until it is where it
 * was expected again, or has gone on steadily for a day. The first reading of the clock is believed.
 */
export function createClockMonitor(): ClockMonitor {
  /** The clock less the time passed, when the clock was last believed, and when a jump was seen. */
  let believed: number | undefined
  let jumped: { to: number; since: number } | undefined
  return (now, passed) => {
    const offset = now - passed
    believed ??= offset
    const jumpMs = offset - believed
    if (Math.abs(jumpMs) <= JUMP_MS) {
      // What drifts, or is corrected bit by bit, is followed.
      believed = offset
      jumped = undefined
      return { doubted: false, began: false, jumpMs: 0 }
    }
    const began = jumped === undefined || Math.abs(offset - jumped.to) > JUMP_MS
    if (jumped === undefined || began) jumped = { to: offset, since: passed }
    if (passed - jumped.since < STEADY_MS) return { doubted: true, began, jumpMs }
    believed = offset
    jumped = undefined
    return { doubted: false, began: false, jumpMs: 0 }
  }
}

/** Detects clock jumps before old rows are deleted by age. docs/spec/reliability.md F19, T53; docs/decisions/0053. */

const HOUR_MS = 3_600_000
/** After this long without another jump, the clock is trusted again. */
const STEADY_MS = 24 * HOUR_MS
/** Usual corrections of a clock are smaller than this. */
const JUMP_MS = HOUR_MS

type Doubt = {
  isSuspect: boolean
  /** True on the first reading after this jump. */
  isNewJump: boolean
  jumpMs: number
}

/** `now`: the clock; `passed`: monotonic time, in ms. */
export type ClockMonitor = (now: number, passed: number) => Doubt

/** Watches a clock. After a jump of more than an hour it is suspect until it is back, or has run steadily for a day. The first reading is trusted. */
export function createClockMonitor(): ClockMonitor {
  /** Offset of the clock to the monotonic time when it was last trusted, and at the last jump. */
  let believed: number | undefined
  let jumped: { to: number; since: number } | undefined
  return (now, passed) => {
    const offset = now - passed
    believed ??= offset
    const jumpMs = offset - believed
    if (Math.abs(jumpMs) <= JUMP_MS) {
      // Drift and gradual corrections are followed.
      believed = offset
      jumped = undefined
      return { isSuspect: false, isNewJump: false, jumpMs: 0 }
    }
    const isNewJump = jumped === undefined || Math.abs(offset - jumped.to) > JUMP_MS
    if (jumped === undefined || isNewJump) jumped = { to: offset, since: passed }
    if (passed - jumped.since < STEADY_MS) return { isSuspect: true, isNewJump, jumpMs }
    believed = offset
    jumped = undefined
    return { isSuspect: false, isNewJump: false, jumpMs: 0 }
  }
}

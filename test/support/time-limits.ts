/**
 * Bounds on time. They hold where nothing else runs: `npm run test:attacks` asserts them, one file at a time, in the tests whose
 * name has `(a bound on time)`. `npm test` runs these tests without their bounds. docs/testing.md.
 */
import assert from 'node:assert/strict'

/** Whether bounds are asserted in this run. */
export const BOUNDS_HOLD = process.env.BERTH_TEST_BOUNDS === 'on'

/** Holds a bound on what was measured, where bounds are asserted: both in ms, or both a number of times as long. */
export function assertWithin(measured: number, most: number): void {
  if (BOUNDS_HOLD) assert.ok(measured < most, `measured ${measured}, allowed ${most}`)
}

/**
 * Bounds on time. They hold where nothing else runs: `npm run test:attacks` asserts them, one file at a time, in the tests whose
 * name has `(a bound on time)`. `npm test` runs these tests without their bounds. docs/testing.md.
 */
import assert from 'node:assert/strict'

/** Whether bounds are asserted in this run. */
export const BOUNDS_HOLD = process.env.BERTH_TEST_BOUNDS === 'on'

/** Asserts a limit on a measurement, where limits are asserted: both in ms, or both as a factor. */
export function assertWithin(measured: number, most: number): void {
  if (BOUNDS_HOLD) assert.ok(measured < most, `measured ${measured}, allowed ${most}`)
}

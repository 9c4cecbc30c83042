/**
 * Bounds on time. They hold where nothing else runs: `npm run test:attacks` asserts them, one file at a time, in the tests whose
 * name has `(a bound on time)`. `npm test` runs these tests without their bounds. docs/testing.md.
 */
import assert from 'node:assert/strict'

/** Whether bounds are asserted in this run. */
export const BOUNDS_HOLD = process.env.BERTH_TEST_BOUNDS === 'on'

/** Holds a bound on what was measured, both in ms, where bounds are asserted. */
export function within(tookMs: number, mostMs: number): void {
  if (BOUNDS_HOLD) assert.ok(tookMs < mostMs, `it took ${tookMs} ms, ${mostMs} are allowed`)
}

/** Waits for a state, never for a time. docs/testing.md: Rules for a test. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** For a state that is never reached. A busy machine does not come near it. */
export const EVENTUALLY_TIMEOUT_MS = 120_000

/**
 * Waits until it is so, and gives how long that took, in ms. A bound on that time is `within` of test/support/time-limits.ts. `instead`: says
 * what is so when it is given up.
 */
export async function eventually(
  what: () => boolean | Promise<boolean>,
  instead = () => String(what),
): Promise<number> {
  const start = performance.now()
  for (;;) {
    if (await what()) return performance.now() - start
    assert.ok(
      performance.now() - start < EVENTUALLY_TIMEOUT_MS,
      `not so within ${EVENTUALLY_TIMEOUT_MS / 1000} s: ${instead()}`,
    )
    await sleep(2)
  }
}

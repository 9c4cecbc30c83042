/** Failures that the embedded store could not take are written later. docs/limits.md: Several instances. */
import assert from 'node:assert/strict'
import { createDurableFailures } from '../../../src/platform/limiter/durable-failures.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('counts of failures that could not be written are written the next time, once', async ({ deps }) => {
  const kept = createDurableFailures()
  const counter = kept.counterOf({ name: 'sign-in-failures', failures: true, total: 9, seconds: 600 } as never)
  const now = deps.clock.now()
  await counter.consume('ada', now, 2)
  const read = () => deps.db.read.selectFrom('rate_limit').select(['owner', 'used']).execute()
  const full = new Error('the disk is full')
  await assert.rejects(
    kept.write(() => Promise.reject(full)),
    full,
  )
  await counter.consume('eve', now, 3)
  await kept.write((work) => deps.db.write(work))
  assert.deepEqual(
    (await read()).map((row) => ({ ...row })).toSorted((a, b) => a.used - b.used),
    [
      { owner: 'ada', used: 2 },
      { owner: 'eve', used: 3 },
    ],
  )
  await kept.write(() => assert.fail('nothing is left to be written'))
})

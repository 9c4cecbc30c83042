/** The times at which users and tokens were last seen are deleted after a year. docs/operations.md: User administration. */
import assert from 'node:assert/strict'
import { createLastSeen, writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { onBothEngines } from '../../support/world.ts'

const YEAR_MS = 365 * 86_400_000
const HOUR_MS = 3_600_000

onBothEngines('users and tokens last seen more than a year ago are forgotten, and no others', async (world) => {
  const { deps } = world
  const lastSeen = createLastSeen()
  const now = deps.clock.now()
  lastSeen.record('usr_gone', now - YEAR_MS - HOUR_MS)
  lastSeen.record('usr_barely', now - YEAR_MS + 2 * HOUR_MS)
  lastSeen.record('tok_here', now)
  await writeLastSeen({ db: deps.db, lastSeen })
  const run = () => world.operator('POST', '/operator/v1/timers/long-unseen/run', { now })
  assert.deepEqual((await run()).body, { swept: 1 })
  assert.deepEqual((await run()).body, { swept: 0 })
  const left = await deps.db.read.selectFrom('seen').select('id').orderBy('id').execute()
  assert.deepEqual(
    left.map(({ id }) => id).filter((id) => ['usr_gone', 'usr_barely', 'tok_here'].includes(id)),
    ['tok_here', 'usr_barely'],
  )
})

/** The times at which users and tokens were last seen are deleted after a year. docs/operations.md: User administration. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { createLastSeen, writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { MIGRATED } from '../../support/postgres.ts'
import { newDatabase, onBothEngines, openWorld } from '../../support/world.ts'

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

onBothEngines('what could not be written is written later, and no later hour goes back', async ({ deps }) => {
  const lastSeen = createLastSeen()
  const hour = 400_000 * HOUR_MS
  lastSeen.record('tok_here', hour)
  const failing = { ...deps.db, write: () => Promise.reject(new Error('the database is unavailable')) }
  await assert.rejects(writeLastSeen({ db: failing, lastSeen }), /is unavailable/)
  const at = async () => {
    await writeLastSeen({ db: deps.db, lastSeen })
    const row = await deps.db.read.selectFrom('seen').select('at').where('id', '=', 'tok_here').executeTakeFirst()
    return Number(row?.at)
  }
  assert.equal(await at(), hour)
  lastSeen.record('tok_here', hour - HOUR_MS)
  assert.equal(await at(), hour)
})

onBothEngines('a stop writes who was seen last', async ({ engine, folder }) => {
  const url = engine === 'postgres' ? await newDatabase(MIGRATED) : `sqlite:${join(folder, 'stopped.db')}`
  const settings = { DATABASE_URL: url, BERTH_KEYS: join(folder, 'keys-of-it.json') }
  const world = await openWorld(engine, settings)
  await world.call('GET', '/v2/user')
  await world.close()
  const next = await openWorld(engine, settings)
  try {
    const seen = await next.deps.db.read.selectFrom('seen').select('id').execute()
    assert.ok(seen.some(({ id }) => id === world.credentials.userId))
  } finally {
    await next.close()
  }
})

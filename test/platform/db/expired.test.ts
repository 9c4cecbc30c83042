/** Rows that expire at a time of their own are removed by a sweep, and no others are. */
import assert from 'node:assert/strict'
import { expirySweep } from '../../../src/platform/db/chunks.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const NOW = 5_000_000_000_000
/** The sweep of each table, and a row of it but for its end. */
const SWEEPS = {
  'old-email-changes': ['email_change', (name: string) => ({ user_id: name, hash: name, email: name })],
  'half-sign-ins': ['half_sign_in', (name: string) => ({ hash: name, user_id: name })],
  'old-identity-links': ['identity_link', (name: string) => ({ hash: name, user_id: name, issuer: 'i', sub: name })],
  'old-invitations': [
    'invitation',
    (name: string) => ({ id: name, team_id: 't', email: name, role: 'VIEWER', invited_by: 'u', created_stamp: 1 }),
  ],
  'old-site-sessions': [
    'site_session',
    (name: string) => ({ hash: name, host: 'h', project_id: 'p', account_id: 'a', user_id: 'u', session_hash: 's' }),
  ],
  'ended-sessions': ['session', (name: string) => ({ hash: name, user_id: name, created_at: 1, used_at: 1 })],
  'old-password-links': ['password_link', (name: string) => ({ hash: name, user_id: name })],
  'reserved-slugs': ['reserved_slug', (name: string) => ({ id: name, slug_hash: name, holder_id: name })],
  'spent-challenges': ['spent_challenge', (name: string) => ({ hash: name })],
  'old-usage-reports': ['usage_report', (name: string) => ({ server: name, sequence: 1 })],
  'expired-tokens': ['token', (name: string) => ({ id: name, hash: name, user_id: name, created_stamp: 1 })],
} as const
/** More than one statement takes, so that the last of them counts too. */
const MANY = 250

for (const [timer, [table, rowOf]] of Object.entries(SWEEPS))
  onBothEngines(`${timer} removes what has expired, all of it, and nothing else`, async (world) => {
    const before = await world.deps.db.read
      .selectFrom(table as 'token')
      .selectAll()
      .execute()
    const row = (name: string, expires_at: number) => ({ ...rowOf(name), expires_at })
    const over = Array.from({ length: MANY }, (_, at) => row(`over-${at}`, NOW - at))
    await addRows(world, table, [...over, row('stays', NOW + 1)])
    const swept = await world.operator('POST', `/operator/v1/timers/${timer}/run`, { now: NOW })
    assert.deepEqual([swept.status, swept.body.swept], [200, MANY])
    const rest = await world.deps.db.read
      .selectFrom(table as 'token')
      .selectAll()
      .execute()
    assert.equal(rest.length, before.length + 1)
    assert.ok(rest.some((one) => Object.values(one).includes('stays')))
    assert.equal((await world.operator('POST', `/operator/v1/timers/${timer}/run`, { now: NOW })).body.swept, 0)
  })

onBothEngines('a slice of a sweep has the given size, and begins with the rows that expired first', async (world) => {
  const rows = [3, 1, 2].map((end) => ({ hash: `end-${end}`, expires_at: end }))
  await addRows(world, 'spent_challenge', rows)
  const { db } = world.deps
  assert.equal(await db.write((tx) => expirySweep('spent_challenge')({ db: tx, now: 3 }, 2)), 2)
  const rest = await db.read.selectFrom('spent_challenge').selectAll().execute()
  assert.deepEqual(
    rest.map(({ hash }) => hash),
    ['end-3'],
  )
})

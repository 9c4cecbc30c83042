/** Checks of backups that an operator asks the running service for. docs/backup.md: Console and API. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { nextOfSchedule } from '../../../src/operations/backup/runs.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { eventually } from '../../support/eventually.ts'
import { bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'
import { onBothEngines, openWorld, type World } from '../../support/world.ts'

const PAGE = '/console/operator/backups'
const verify = (world: World, body: object = {}) => world.operator.try('POST', '/operator/v1/backups/verify', body)
const listOf = async (world: World) => (await world.operator('GET', '/operator/v1/backups/known')).body

/** Waits until the check has ended, and gives what is known then. */
async function checked(world: World) {
  await eventually(async () => (await listOf(world)).check.running === null)
  return listOf(world)
}

/** Has the service make a backup, which is checked, and lets a minute pass. */
async function backedUp(world: World): Promise<{ place: string; name: string; verifiedAt: number }> {
  assert.equal((await world.operator('POST', '/operator/v1/backups', {})).status, 202)
  await eventually(async () => (await listOf(world)).known[0]?.verifiedAt > 0)
  const [{ place, name, isHere, verifiedAt }] = (await listOf(world)).known
  assert.equal(isHere, true)
  world.deps.clock.set(world.deps.clock.now() + 60_000)
  return { place, name, verifiedAt }
}

async function entriesOf(world: World): Promise<string[]> {
  const { entries } = (await world.operator('GET', '/operator/v1/audit?type=operatorVerifyBackup')).body
  return entries.map((one: { subjectId: string; fields: string[] }) => `${one.subjectId} ${one.fields}`)
}

onBothEngines(
  'the result of a manual check is on the page, in the list and in the audit log, intact or damaged',
  async (world) => {
    const { place, name, verifiedAt } = await backedUp(world)
    const client = await openSignedInClient(world)
    assert.match((await client.get(PAGE)).text, />Intact, </)
    assert.equal((await client.post(`${PAGE}/verify`)).location, PAGE)
    const whole = (await checked(world)).known[0]
    assert.deepEqual([whole.fault, whole.verifiedAt > verifiedAt], [null, true])
    assert.deepEqual((await entriesOf(world)).sort(), [`${name} `, `${name} whole`])
    const actors = (await world.operator('GET', '/operator/v1/audit?type=operatorVerifyBackup')).body.entries
    assert.deepEqual(
      actors.map(({ actor }: { actor: { id: string } }) => actor.id),
      [world.credentials.userId, world.credentials.userId],
    )

    const file = join(place, name)
    const bytes = readFileSync(file)
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(file, bytes)
    assert.equal((await client.post(`${PAGE}/verify`, { place, name })).location, PAGE)
    const bad = (await checked(world)).known[0]
    assert.match(bad.fault, /SHA-256/)
    assert.match((await client.get(PAGE)).text, /<strong>Damaged<\/strong>: /)
    assert.ok((await entriesOf(world)).includes(`${name} damaged`))
    const { sections } = (await world.operator('GET', '/operator/v1/report')).body
    assert.match(sections[0].items.map(({ what }: { what: string }) => what).join(), /1 backup is damaged/)
  },
)

onBothEngines(
  'only known backups within reach are checked, and a missing one is reported but not called damaged',
  async (world) => {
    const { place, name, verifiedAt } = await backedUp(world)
    const elsewhere = { place: '/elsewhere', name: 'there.db', begunAt: Date.now() + 1000, bytes: 1, sha256: 'x' }
    assert.equal((await world.operator('POST', '/operator/v1/backups/reports', elsewhere)).status, 204)
    assert.deepEqual(
      (await listOf(world)).known.map((one: { name: string; isHere: boolean }) => [one.name, one.isHere]),
      [
        ['there.db', false],
        [name, true],
      ],
    )
    for (const body of [
      { place: '/elsewhere' },
      { place: '/elsewhere', name: 'there.db' },
      { name: 'there.db' },
      { place, name: 'none.db' },
      { name: '../keys.json' },
    ]) {
      const refused = await verify(world, body)
      assert.deepEqual([refused.status, refused.body.error.code], [404, 'not_found'], JSON.stringify(body))
    }
    const page = await (await openSignedInClient(world)).get(PAGE)
    assert.match(page.text, new RegExp(`aria-label="Verify ${name}"`))
    assert.doesNotMatch(page.text, /Verify there/)

    assert.deepEqual((await verify(world)).body.name, name, 'the newest that is within reach')
    const again = (await checked(world)).known[1].verifiedAt
    assert.ok(again > verifiedAt)
    rmSync(join(place, name))
    assert.equal((await verify(world, { place, name })).status, 202)
    const { known, check } = await checked(world)
    assert.match(check.failed.message, /is not there/)
    assert.deepEqual([known[1].fault, known[1].verifiedAt], [null, again])
  },
)

test('one is checked at a time, and a stop does not wait for a bucket that is silent', {
  timeout: 300_000,
}, async (t) => {
  const server = await strictServer(t)
  const settings = { ...bucketSettings(server.endpoint), BERTH_BACKUP_SCHEDULE: '30 3 * * *' }
  const asked: string[] = []
  server.fault = ({ key }) => asked.push(key) > 0
  const world = await openWorld('sqlite', settings)
  try {
    const { scheduled } = await listOf(world)
    assert.deepEqual([scheduled.to, scheduled.keep], ['s3://berth-backups/nightly', 'last=3,daily=7,weekly=4'])
    assert.equal(new Date(scheduled.nextAt).toISOString().slice(11), '03:30:00.000Z')
    const known = { place: scheduled.to, name: 'berth-1.db', begunAt: 1, bytes: 1, sha256: 'x' }
    assert.equal((await world.operator('POST', '/operator/v1/backups/reports', known)).status, 204)
    assert.equal((await verify(world)).status, 202)
    await eventually(() => asked.length > 0)
    const refused = await verify(world)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
    assert.equal((await listOf(world)).check.running.name, 'berth-1.db')
    const page = await (await openSignedInClient(world)).get(PAGE)
    assert.match(page.text, /berth-1\.db is being verified\. The check started <time/)
    assert.match(page.text, /<code>30 3 \* \* \*<\/code>/)
    assert.doesNotMatch(page.text, /backups\/verify/)
  } finally {
    await world.close()
  }
  assert.match(world.logged(), /a backup could not be checked/)
})

test('the next time of a schedule is after now, in UTC', async () => {
  const at = (text: string) => Date.parse(`${text}Z`)
  assert.equal(await nextOfSchedule('30 3 * * *', at('2026-11-22T03:29:59')), at('2026-11-22T03:30:00'))
  assert.equal(await nextOfSchedule('30 3 * * *', at('2026-11-22T03:30:00')), at('2026-11-23T03:30:00'))
})

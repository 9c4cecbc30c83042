/** A restore brings back old data: it suspends no user, and a copy next to production sends nothing outside. docs/backup.md: Restore next to production. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { checkIdentities } from '../../../src/accounts/single-sign-on/check.ts'
import { readConfig } from '../../../src/config.ts'
import { createBackup } from '../../../src/operations/backup/backup.ts'
import { restoreBackup } from '../../../src/operations/backup/restore.ts'
import { cachePurgesOf, lastPurgeOf, purgeOf } from '../../../src/platform/verdict/cache-purges.ts'
import { TIMERS } from '../../../src/timers.ts'
import { type Client, openClient } from '../../support/clients/browser-client.ts'
import { iterations } from '../../support/iterations.ts'
import { newHome } from '../../support/process.ts'
import { seedProject } from '../../support/projects.ts'
import { signInBy, startProvider } from '../../support/servers/identity-provider.ts'
import { onBothEngines, openWorld, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const provider = await startProvider({ rotates: true })
after(() => provider.close())

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status !== 303
}

/** Signs users in, and creates an API token for each. */
async function signInPeople(world: World, count: number) {
  const people = []
  for (let at = 0; at < count; at++) {
    const email = `p${at}@example.com`
    provider.people.set(`p${at}`, { email, email_verified: true })
    const client = openClient(world)
    assert.equal((await signInBy(provider, client, `p${at}`)).status, 303)
    const row = world.deps.db.read.selectFrom('account').select('id').where('email', '=', email)
    const { id } = await row.executeTakeFirstOrThrow()
    const { token } = (await world.operator('POST', '/operator/v1/tokens', { userId: id })).body
    people.push({ id, client, token })
  }
  return people
}

async function suspendedIn({ deps }: World): Promise<number> {
  const rows = deps.db.read.selectFrom('account').select('id').where('suspended_at', 'is not', null)
  return (await rows.execute()).length
}

/** Asks the provider each hour, as the service does within some minutes. */
async function pass(world: World, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    world.deps.clock.set(world.deps.clock.now() + HOUR_MS)
    await checkIdentities(world.deps, world.deps.clock.now())
  }
}

async function backUp(world: World): Promise<string> {
  const { file } = await createBackup(
    world.deps.config,
    { to: join(world.folder, 'copy.db'), version: 'of tests', withKeys: false },
    () => {},
  )
  return file
}

/** Restores into a store of its own, and opens it with the keyring and the settings of the first. */
async function openRestored(t: TestContext, world: World, from: string, settings: Record<string, string>) {
  const home = await newHome(t, world.engine)
  const env = { ...home.env, BERTH_KEYS: join(world.folder, 'keys.json') }
  await restoreBackup(readConfig(env), { from, force: false }, () => {})
  return openWorld(world.engine, { ...settings, BERTH_KEYS: env.BERTH_KEYS, DATABASE_URL: home.env.DATABASE_URL! })
}

onBothEngines(
  'old provider tokens in a restore suspend no user: users sign in again, and API tokens stay valid',
  async (world, t) => {
    const people = await signInPeople(world, iterations(8, 50))
    const file = await backUp(world)
    // More use: the provider changes each token.
    await pass(world, 5)
    await world.stop()
    const restored = await openRestored(t, world, file, provider.settings)
    try {
      await pass(restored, 5)
      assert.equal(await suspendedIn(restored), 0)
      for (const { token } of people) assert.equal((await restored.as(token)('GET', '/v2/user')).status, 200)
      const [first] = people
      const client = openClient(restored)
      assert.equal((await signInBy(provider, client, 'p0')).status, 303)
      const rows = restored.deps.db.read.selectFrom('identity').selectAll()
      assert.notEqual((await rows.where('user_id', '=', first!.id).executeTakeFirstOrThrow()).refresh_token, null)
      // Within the 12 hours that the others have.
      await pass(restored, 5)
      assert.equal(await suspendedIn(restored), 0)
      assert.ok(await isIn(client), 'the provider confirms her identity as before')
    } finally {
      await restored.close()
    }
  },
  provider.settings,
)

onBothEngines(
  'a session from before a restore admits no user who was removed at the provider meanwhile',
  async (world, t) => {
    const [gone] = await signInPeople(world, 1)
    const file = await backUp(world)
    await world.stop()
    const restored = await openRestored(t, world, file, provider.settings)
    try {
      const sessions = restored.deps.db.read.selectFrom('session').select('user_id').where('user_id', '=', gone!.id)
      assert.deepEqual(await sessions.execute(), [])
      await pass(restored, 13)
      assert.equal(await suspendedIn(restored), 1, 'after 12 hours without a sign-in, as everywhere')
    } finally {
      await restored.close()
    }
  },
  provider.settings,
)

onBothEngines(
  'a restored copy next to production signs no user out of production, and sends nothing',
  async (world, t) => {
    const people = await signInPeople(world, iterations(8, 50))
    const file = await backUp(world)
    await pass(world, 5)
    const drill = await openRestored(t, world, file, {
      ...provider.settings,
      BERTH_TIMERS: 'on',
      BERTH_DRILL: 'on',
      BERTH_BACKUP_SCHEDULE: '0 3 * * *',
      BERTH_BACKUP_TO: join(world.folder, 'backups'),
    })
    try {
      for (const [name, timer] of Object.entries(TIMERS)) {
        if (!('run' in timer)) continue
        const now = world.deps.clock.now() + 30 * 24 * HOUR_MS
        const run = await drill.operator('POST', `/operator/v1/timers/${name as keyof typeof TIMERS}/run`, { now })
        assert.equal(run.body.swept, 0, name)
      }
      const { adapters } = drill.deps
      const never = new AbortController().signal
      const post = { url: 'https://example.com/', headers: {}, body: '', accountId: 'x' }
      assert.match(JSON.stringify(await adapters.egress.post(post, never)), /BERTH_DRILL is on/)
      const sent = { url: post.url, method: 'GET', headers: {}, body: null, accountId: 'x' }
      await assert.rejects(
        adapters.egress.forward(sent, never, async () => {}),
        /BERTH_DRILL is on/,
      )
      const letter = { id: 'x', at: 0, recipient: 'a@example.com', subject: 'x', text: 'x' }
      assert.equal((await adapters.mailer.post(letter, never)).end, 'failed')
      assert.equal(await adapters.dns.readTxt('example.com', 'x'), undefined)
      for (const host of Object.values(adapters.git)) {
        const access = { baseUrl: 'https://example.com', username: null, token: 'x' }
        for (const answer of [
          await host.readRepository(access, 'a/b'),
          await host.addHook(access, 'a/b', { url: 'https://example.com', secret: null }),
          await host.removeHook(access, 'a/b', '1'),
        ])
          assert.match('fault' in answer ? answer.fault : '', /BERTH_DRILL is on/)
      }
      assert.equal(adapters.provider, undefined)
      assert.match(drill.logged(), /BERTH_DRILL is on/)
      assert.equal(await suspendedIn(drill), 0)
    } finally {
      await drill.close()
    }
    await pass(world, 8)
    assert.equal(await suspendedIn(world), 0, 'production')
    for (const { client, token } of people) {
      assert.ok(await isIn(client))
      assert.equal((await world.as(token)('GET', '/v2/user')).status, 200)
    }
  },
  provider.settings,
)

onBothEngines(
  'a copy that was restored without saying that it is a drill uses no token of the provider either',
  async (world, t) => {
    await signInPeople(world, 4)
    const file = await backUp(world)
    await pass(world, 5)
    const copy = await openRestored(t, world, file, provider.settings)
    try {
      copy.deps.clock.set(world.deps.clock.now())
      await pass(copy, 6)
      assert.equal(await suspendedIn(copy), 0)
    } finally {
      await copy.close()
    }
    await pass(world, 8)
    assert.equal(await suspendedIn(world), 0, 'no token of production was ended')
  },
  provider.settings,
)

async function purgesIn({ deps }: World, name: string) {
  const row = deps.db.read.selectFrom('project').select('purges_json').where('name', '=', name)
  return cachePurgesOf((await row.executeTakeFirstOrThrow()).purges_json)!
}

onBothEngines('a purge after a restore counts for pages that sites servers kept before it', async (world, t) => {
  const names = ['purged', 'unpurged']
  for (const name of names) await seedProject(world, name)
  const purge = ({ as }: World, name: string, what = 'purge-all', body: object = {}) =>
    as(world.credentials.token)('POST', `/v1/edge-cache/${what}?projectIdOrName=${name}`, body)
  await purge(world, 'purged', 'dangerously-delete-by-tags', { tags: ['old'] })
  const file = await backUp(world)
  // What the backup does not have: a page made now has the number of the last of these.
  for (const name of names) for (let count = 0; count < 5; count++) await purge(world, name)
  const kept = await Promise.all(names.map(async (name) => lastPurgeOf(await purgesIn(world, name), 'production')))
  assert.deepEqual(kept, [6, 5])
  await world.stop()
  const restored = await openRestored(t, world, file, {})
  try {
    for (const [at, name] of names.entries()) {
      const page = { number: kept[at]!, tags: ['news'] }
      const purges = await purgesIn(restored, name)
      assert.equal(purgeOf(purges, page), 'stale', 'a purge since the backup is lost')
      const made = { number: lastPurgeOf(purges, 'production'), tags: ['news'] }
      assert.equal(purgeOf(purges, made), undefined)
      await purge(restored, name, 'dangerously-delete-by-tags', { tags: ['news'] })
      const after = await purgesIn(restored, name)
      assert.deepEqual([purgeOf(after, page), purgeOf(after, made)], ['gone', 'gone'])
    }
    assert.equal(purgeOf(await purgesIn(restored, 'purged'), { number: 0, tags: ['old'] }), 'gone')
  } finally {
    await restored.close()
  }
})

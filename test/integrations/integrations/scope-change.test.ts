/** Scope changes: a scope that is given up ends everywhere at once, an added scope is pending until a user confirms it. Specification: States and transitions. */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import type { EventAccount } from '../../../src/context.ts'
import {
  confirmScopes,
  pendingScopes,
  updateIntegrationAndInstallations,
} from '../../../src/integrations/installations/scope-change.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { iterations } from '../../support/iterations.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import {
  asOperation,
  configurationNow,
  consentAndInstall,
  eventsOf,
  type InstalledApp,
  seedIntegration,
} from '../../support/worlds/installation-rows.ts'

const TWO_DAYS_MS = 2 * 86_400_000
const scopesOf = (row: { scopes_json: string }) => JSON.parse(row.scopes_json) as string[]

async function integrationNow({ deps }: World, id: string) {
  return deps.db.read.selectFrom('integration').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** `laterMs`: so much later than now, for what is sent once a day. */
async function change(world: World, id: string, scopes: string[], laterMs = 0) {
  const integration = await integrationNow(world, id)
  const input = { version: 1, params: {}, query: {}, body: { scopes } }
  await asOperation(world, (ctx) =>
    updateIntegrationAndInstallations({ ...ctx, now: ctx.now + laterMs }, integration, input),
  )
}

async function confirm(world: World, { configuration }: InstalledApp, shown: string[]) {
  const now = await configurationNow(world, configuration.id)
  return asOperation(world, (ctx) => confirmScopes(ctx, now, shown))
}

async function pendingOf(world: World, { configuration }: InstalledApp) {
  const now = await configurationNow(world, configuration.id)
  return pendingScopes(await integrationNow(world, now.integration_id), now)
}

const letters = readQueuedMail

onBothEngines(
  'a removal or downgrade applies with the commit to tokens that exist, and no letter is sent',
  async (world) => {
    const { userId } = world.credentials
    const integration = await seedIntegration(world, ['read-write:project', 'read-write:domain', 'read:user'])
    const installed = await consentAndInstall(world, integration, { userId, account: { id: userId, kind: 'user' } })
    const call = world.as(installed.token)
    assert.equal((await call('POST', '/v10/projects', { name: 'one' })).status, 200)
    await change(world, integration.id, ['read:project', 'read-write:domain', 'read:user'])
    const refused = await call.try('POST', '/v10/projects', { name: 'two' })
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
    assert.match(refused.body.error.message, /project:write/)
    assert.equal((await call('GET', '/v9/projects')).status, 200)
    await change(world, integration.id, ['read:user'])
    assert.equal((await call.try('GET', '/v9/projects')).status, 403)
    assert.equal((await call('GET', '/v2/user')).status, 200)
    assert.deepEqual(await letters(world), [])
    assert.deepEqual(await eventsOf(world, 'integration-configuration.'), [])
  },
)

onBothEngines(
  'an addition or upgrade opens nothing until a user confirms all of it together, as it was shown',
  async (world) => {
    const { userId } = world.credentials
    const account = { id: userId, kind: 'user' } as const
    const integration = await seedIntegration(world, ['read:project'])
    const installed = await consentAndInstall(world, integration, { userId, account })
    const call = world.as(installed.token)
    await change(world, integration.id, ['read-write:project', 'read:user'])
    assert.equal((await call.try('POST', '/v10/projects', { name: 'one' })).status, 403)
    assert.equal((await call.try('GET', '/v2/user')).status, 403)
    const seen = await pendingOf(world, installed)
    assert.deepEqual(seen, ['read-write:project', 'read:user'])
    for (const other of [[], ['read:user'], [...seen, 'read:team'], ['read:project', 'read:user']]) {
      const refused = (error: unknown) => error instanceof Refusal && error.key === 'scopes_changed'
      await assert.rejects(confirm(world, installed, other), refused, other.join())
    }
    await change(world, integration.id, ['read-write:project', 'read:user', 'read:team'])
    await assert.rejects(confirm(world, installed, seen), /have changed/)
    assert.equal((await call.try('GET', '/v2/user')).status, 403)
    const more = await pendingOf(world, installed)
    // Two users, or one who clicks twice: applied once, sent once.
    await Promise.all([confirm(world, installed, more), confirm(world, installed, more)])
    assert.equal((await call('POST', '/v10/projects', { name: 'one' })).status, 200)
    assert.equal((await call('GET', '/v2/user')).status, 200)
    assert.deepEqual(await pendingOf(world, installed), [])
    const { id } = installed.configuration
    const told = await eventsOf(world, 'integration-configuration.')
    assert.deepEqual(
      told.map(({ type, configuration_id, account_id, payload }) => [
        type,
        configuration_id,
        account_id,
        payload.configuration,
      ]),
      [
        [
          'integration-configuration.scope-change-confirmed',
          id,
          userId,
          { id, scopes: ['read-write:project', 'read:team', 'read:user'] },
        ],
      ],
    )
  },
)

onBothEngines(
  'each user who can confirm gets one email with all pending scopes, and a link for each installation',
  async (world) => {
    const { userId, teamId } = world.credentials
    const { operator } = world
    const [grace, heidi, ivan] = [await world.user('grace'), await world.user('heidi'), await world.user('ivan')]
    const second = (await operator('POST', '/operator/v1/teams', { slug: 'second', name: 'Second', ownerId: grace.id }))
      .body
    for (const [team, user, role] of [
      [teamId, grace.id, 'OWNER'],
      [teamId, heidi.id, 'MEMBER'],
      [second.id, heidi.id, 'OWNER'],
    ] as const) {
      await operator('PUT', `/operator/v1/teams/${team}/members/${user}`, { role })
    }
    const integration = await seedIntegration(world, ['read:project', 'read:user'], 'Light\r\nBcc: x@example.com')
    const onTeam = await consentAndInstall(world, integration, {
      userId,
      account: { id: teamId, kind: 'team' },
      scopes: ['read:project'],
    })
    const onSecond = await consentAndInstall(world, integration, {
      userId: heidi.id,
      account: { id: second.id, kind: 'team' },
    })
    const own = await consentAndInstall(world, integration, { userId: ivan.id, account: { id: ivan.id, kind: 'user' } })
    const gone = await consentAndInstall(world, await seedIntegration(world, ['read:project']), {
      ...{ userId: ivan.id, account: { id: ivan.id, kind: 'user' as const } },
    })
    await change(world, integration.id, ['read-write:project', 'read:user'])
    const sent = await letters(world)
    const origin = world.deps.origin()
    const links = (text: string) => [...text.matchAll(/^http.*\/integrations\/confirm\/(\w+)$/gm)].map(([, id]) => id)
    const byPerson = new Map(sent.map((letter) => [letter.recipient, links(letter.body_text).sort()]))
    const [a, b, c] = [onTeam, onSecond, own].map(({ configuration }) => configuration.id)
    assert.deepEqual([...byPerson].sort(), [
      ['admin@berth.localhost', [a]],
      ['grace@example.com', [a, b].sort()],
      ['heidi@example.com', [b]],
      ['ivan@example.com', [c]],
    ])
    assert.equal(sent.length, 4)
    const toAdmin = sent.find(({ recipient }) => recipient === 'admin@berth.localhost')!
    assert.equal(toAdmin.subject, 'Light Bcc: x@example.com requests more access')
    assert.match(toAdmin.body_text, /On team:\n {2}read-write:project\n {2}read:user\n/)
    assert.ok(toAdmin.body_text.includes(`${origin}/integrations/confirm/${a}`))
    for (const { body_text } of sent) assert.equal(body_text.includes(gone.configuration.id), false)
    // The same again, and less, on a later day: no user gets an email.
    await change(world, integration.id, ['read:user', 'read-write:project'], TWO_DAYS_MS)
    await change(world, integration.id, ['read-write:project'], TWO_DAYS_MS)
    assert.equal((await letters(world)).length, 4)
  },
)

const SCOPES = ['project', 'domain', 'team', 'user', 'project-env-vars', 'global-project-env-vars', 'log-drain']
type Levels = Record<string, number>

/** The model: what is asked, and what each installation was granted, as a level a scope. */
const model = () => ({ asked: {} as Levels, granted: new Map<string, Levels>() })
const capped = (granted: Levels, asked: Levels): Levels =>
  Object.fromEntries(SCOPES.map((scope) => [scope, Math.min(granted[scope] ?? 0, asked[scope] ?? 0)]))
const spoken = (levels: Levels): string[] =>
  SCOPES.flatMap((scope) => ({ 0: [], 1: [`read:${scope}`], 2: [`read-write:${scope}`] })[levels[scope] ?? 0]!).sort()
const risen = (asked: Levels, granted: Levels): Levels =>
  Object.fromEntries(SCOPES.map((scope) => [scope, (asked[scope] ?? 0) > (granted[scope] ?? 0) ? asked[scope]! : 0]))
const merged = (granted: Levels, more: Levels): Levels =>
  Object.fromEntries(SCOPES.map((scope) => [scope, Math.max(granted[scope] ?? 0, more[scope] ?? 0)]))
const random = (): Levels => Object.fromEntries(SCOPES.map((scope) => [scope, Math.max(0, randomInt(-1, 3))]))

type Tally = { confirmed: number; stale: number }

/** One random life of an integration on two accounts, held against the model after every step. */
async function live(world: World, userId: string, teamId: string, tally: Tally): Promise<void> {
  const expected = model()
  expected.asked = random()
  const integration = await seedIntegration(world, spoken(expected.asked))
  const installs = new Map<string, InstalledApp>()
  const seen = new Map<string, Levels>()
  const free: EventAccount[] = [
    { id: userId, kind: 'user' },
    { id: teamId, kind: 'team' },
  ]
  const confirmShown = async (id: string, installed: InstalledApp, shown: Levels) => {
    const granted = expected.granted.get(id)!
    const waits = risen(expected.asked, granted)
    const nothingNew = spoken(waits).length === 0 && spoken(risen(shown, granted)).length === 0
    const good = nothingNew || spoken(shown).join() === spoken(waits).join()
    const end = await confirm(world, installed, spoken(shown)).then(() => true, isStale)
    assert.equal(end, good, `${spoken(shown)} of ${spoken(waits)}`)
    tally[good ? 'confirmed' : 'stale']++
    if (good) expected.granted.set(id, merged(granted, waits))
  }
  const edit = async () => {
    expected.asked = random()
    await change(world, integration.id, spoken(expected.asked))
    for (const [key, granted] of expected.granted) expected.granted.set(key, capped(granted, expected.asked))
  }
  for (let step = 0; step < 10; step++) {
    const [id, installed] = [...installs][randomInt(0, installs.size + 1)] ?? []
    const dice = randomInt(0, 10)
    if (free.length > 0 && dice < 2) {
      const asked = await integrationNow(world, integration.id)
      const made = await consentAndInstall(world, asked, { userId, account: free.pop()! })
      installs.set(made.configuration.id, made)
      expected.granted.set(made.configuration.id, expected.asked)
    } else if (dice < 4 || installed === undefined) {
      await edit()
    } else if (dice < 6) {
      seen.set(id!, risen(expected.asked, expected.granted.get(id!)!))
    } else {
      const waits = risen(expected.asked, expected.granted.get(id!)!)
      await confirmShown(id!, installed, dice < 8 ? waits : (seen.get(id!) ?? waits))
    }
    for (const [key, granted] of expected.granted) {
      const now = await configurationNow(world, key)
      assert.deepEqual(scopesOf(now).sort(), spoken(granted))
      const asked = { scopes_json: JSON.stringify(spoken(expected.asked)) }
      assert.deepEqual(pendingScopes(asked, now), spoken(risen(expected.asked, granted)))
    }
  }
  // A former page is rarely confirmed by chance.
  for (const [id, installed] of installs) {
    const shown = risen(expected.asked, expected.granted.get(id)!)
    await edit()
    await confirmShown(id, installed, shown)
  }
}

/** False for the refusal that what waits is not what was seen; anything else is thrown on. */
function isStale(error: unknown): boolean {
  if (error instanceof Refusal && error.key === 'scopes_changed') return false
  throw error
}

onBothEngines('random edits, installs and confirmations of present and former pages follow a model', async (world) => {
  const [lanes, lives] = world.engine === 'sqlite' ? [25, iterations(6, 24, 84)] : [4, iterations(15, 30, 100)]
  const tally: Tally = { confirmed: 0, stale: 0 }
  const run = async (lane: number) => {
    const user = await world.user(`lane${lane}`)
    const wanted = { slug: `team${lane}`, name: 'T', ownerId: user.id }
    const { id: teamId } = (await world.operator('POST', '/operator/v1/teams', wanted)).body
    for (let n = 0; n < lives; n++) await live(world, user.id, teamId, tally)
  }
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)))
  const sequences = lanes * lives
  assert.ok(tally.confirmed > sequences / 4 && tally.stale > sequences / 10, JSON.stringify(tally))
})

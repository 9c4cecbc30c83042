/** A user is the one of the token, however BERTH_OIDC_ISSUER spells the provider. docs/single-sign-on.md: Account linking. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { checkIdentities } from '../../../src/accounts/single-sign-on/check.ts'
import { openIdentityProvider } from '../../../src/platform/adapters/identity-provider.ts'
import { openSecretBoxToWrite } from '../../../src/platform/secrets/data-keys.ts'
import { type Client, openClient, pathOf } from '../../support/clients/browser-client.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { signInBy, startStandIn } from '../../support/servers/identity-provider.ts'
import { addRows, tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000
const SOME = { email: 'one@example.com', email_verified: true }

async function isIn(client: Client): Promise<boolean> {
  return (await client.get('/invitations')).status !== 303
}

/** Starts to spell the provider otherwise, as a start with another setting does. */
function respell(world: World, issuer: string): void {
  const adapters = world.deps.adapters as { provider?: unknown }
  adapters.provider = openIdentityProvider({ ...world.deps.config.singleSignOn!, issuer })
}

function ties(world: World) {
  return world.deps.db.read.selectFrom('identity').selectAll().execute()
}

async function ask(world: World, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    world.deps.clock.set(world.deps.clock.now() + HOUR_MS)
    await checkIdentities(world.deps, world.deps.clock.now())
  }
}

for (const path of ['', '/', '/realms/berth', '/realms/berth/']) {
  const provider = await startStandIn(path)
  after(() => provider.close())
  const issuer = provider.settings.BERTH_OIDC_ISSUER!
  const spellings = [issuer, issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/`] as const

  onBothEngines(
    `users stay the same when the setting gets or loses a last slash: issuer with the path "${path}"`,
    async (world) => {
      provider.answer.claims = SOME
      const client = openClient(world)
      // Both orders, and back again.
      for (const spelled of [...spellings, ...spellings.toReversed()]) {
        respell(world, spelled)
        assert.equal((await signInBy(provider, client, 'one')).status, 303, spelled)
        assert.deepEqual(
          (await ties(world)).map((tie) => tie.issuer),
          [issuer],
          'what the token says is kept',
        )
        await ask(world, 13)
        assert.ok(await isIn(client), `${spelled}: the provider still confirms`)
      }
      assert.equal((await readQueuedMail(world)).length, 0)
    },
    provider.settings,
  )

  onBothEngines(
    `a tie that an earlier version made under another spelling counts, and is spelled as the token says: "${path}"`,
    async (world) => {
      provider.answer.claims = SOME
      const client = openClient(world)
      await signInBy(provider, client, 'one')
      for (const old of spellings) {
        await tamper(world, 'identity', { issuer: old })
        for (const spelled of spellings) {
          respell(world, spelled)
          await ask(world, 13)
          assert.ok(await isIn(client), `${old} in the store, ${spelled} in the setting`)
        }
        assert.deepEqual(
          (await ties(world)).map((tie) => tie.issuer),
          [issuer],
        )
      }
    },
    provider.settings,
  )
}

const provider = await startStandIn('/realms/berth')
after(() => provider.close())
const issuer = provider.settings.BERTH_OIDC_ISSUER!

onBothEngines(
  'a letter from before the setting was respelled still ties its reader, who then signs in under either spelling',
  async (world) => {
    const user = await world.user('dora')
    provider.answer.claims = { email: 'dora@example.com', email_verified: true }
    const client = openClient(world)
    await signInBy(provider, client, 'one')
    const letter = (await readQueuedMail(world)).find(({ subject }) => subject.startsWith('Sign in by'))!
    respell(world, `${issuer}/`)
    const link = pathOf(/http:\/\/\S+/.exec(letter.body_text)![0])
    await client.get(link)
    assert.equal((await client.post(link)).status, 303)
    for (const spelled of [`${issuer}/`, issuer]) {
      respell(world, spelled)
      assert.equal((await signInBy(provider, openClient(world), 'one')).status, 303, spelled)
    }
    assert.deepEqual(
      (await ties(world)).map((tie) => tie.user_id),
      [user.id],
    )
  },
  provider.settings,
)

onBothEngines(
  'two ties of one user under two spellings stay two: the one that the token names is who signs in',
  async (world) => {
    provider.answer.claims = SOME
    const client = openClient(world)
    await signInBy(provider, client, 'one')
    const [first] = await ties(world)
    const other = await world.user('other')
    const box = await world.deps.db.write((tx) => openSecretBoxToWrite({ db: tx, deps: world.deps }, other.id))
    const refresh_token = box.sealSecret('refresh-token', 'one', 'refresh-1')
    await addRows(world, 'identity', [{ ...first!, issuer: `${issuer}/`, user_id: other.id, refresh_token }])
    await signInBy(provider, client, 'one')
    await ask(world, 5)
    const after = await ties(world)
    const named = after.map((tie) => [tie.issuer, tie.user_id]).sort()
    assert.deepEqual(named, [
      [issuer, first!.user_id],
      [`${issuer}/`, other.id],
    ])
  },
  provider.settings,
)

onBothEngines(
  'another provider, another path and another host are other names',
  async (world) => {
    provider.answer.claims = SOME
    await signInBy(provider, openClient(world), 'one')
    const { provider: opened } = world.deps.adapters
    const named = async (name: string) => opened!.isNamed(name)
    const others = [`${issuer}//`, `${issuer}/x`, issuer.replace('berth', 'other'), 'https://example.com/realms/berth']
    for (const other of others) assert.equal(await named(other), false, other)
    for (const same of [issuer, `${issuer}/`]) assert.equal(await named(same), true, same)
  },
  provider.settings,
)

/** A provider that replaces the refresh token at each use, and ends the access where one is used twice. docs/single-sign-on.md: Deprovisioning. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { checkIdentities } from '../../../src/accounts/single-sign-on/check.ts'
import { openClient } from '../../support/clients/browser-client.ts'
import { signInBy, startProvider } from '../../support/servers/identity-provider.ts'
import { onBothEngines } from '../../support/world.ts'

const MINUTE_MS = 60_000
const provider = await startProvider({ rotates: true })
after(() => provider.close())

onBothEngines(
  'a provider that replaces the token and then fails stops no user',
  async (world) => {
    provider.people.set('one', { email: 'one@example.com', email_verified: true })
    const client = openClient(world)
    assert.equal((await signInBy(provider, client, 'one')).status, 303)
    const { clock, db } = world.deps
    const pass = async (minutes: number) => {
      clock.set(clock.now() + minutes * MINUTE_MS)
      await checkIdentities(world.deps, clock.now())
    }
    const identity = () => db.read.selectFrom('identity').selectAll().executeTakeFirstOrThrow()
    const before = await identity()
    provider.failing.add('/me')
    await pass(241)
    await pass(11)
    assert.equal((await identity()).checked_at, before.checked_at, 'it was not confirmed')
    provider.failing.clear()
    await pass(11)
    const { checked_at, ended_at } = await identity()
    assert.deepEqual([checked_at > before.checked_at, ended_at], [true, null])
    assert.equal((await client.get('/invitations')).status, 200)
    // A removed user is still found out.
    provider.people.delete('one')
    await pass(241)
    assert.notEqual((await identity()).ended_at, null)
  },
  provider.settings,
)

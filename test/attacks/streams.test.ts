/** Open pages as a way to receive what a user may not: every way in which a right ends closes the stream within a second. docs/console.md: Live updates; docs/threats.md. */
import assert from 'node:assert/strict'
import {
  type Client,
  openClient,
  openSignedInClient,
  PASSWORD,
  seedPassword,
} from '../support/clients/browser-client.ts'
import { openEventStream, stampOf } from '../support/clients/event-client.ts'
import { setUpCodes } from '../support/clients/second-factor.ts'
import { eventually } from '../support/eventually.ts'
import { waitForListener } from '../support/stores/change-listener.ts'
import { assertWithin } from '../support/time-limits.ts'
import { onBothEngines, type World } from '../support/world.ts'

const TEAM_PAGE = '/console/t/team/projects/shared'
const SECURITY = '/console/account/security'

type Scene = { world: World; mate: { id: string }; client: Client; admin: Client }

/** TABLE how the right of a user to be notified of a team's project ends. */
const WAYS: Record<string, (scene: Scene) => Promise<unknown>> = {
  'the operator suspends them': ({ world, mate }) =>
    world.operator.try('PATCH', `/operator/v1/users/${mate.id}`, { suspended: true }),
  'they are removed from the team': ({ world, mate }) =>
    world.call.try('DELETE', `/v1/teams/${world.credentials.teamId}/members/${mate.id}`),
  'they sign out': async ({ client }) => {
    await client.get('/invitations')
    await client.post('/sign-out')
  },
  'they end the session from another browser': async ({ world }) => {
    const elsewhere = openClient(world)
    await elsewhere.get('/sign-in')
    await elsewhere.post('/sign-in', { name: 'mate', password: PASSWORD })
    await elsewhere.get(SECURITY)
    await elsewhere.post(`${SECURITY}/sessions/others/end`)
  },
  'their password is set again': ({ world, mate }) => seedPassword(world, mate.id, 'another long password'),
  'the operator removes their second factors': async ({ world, mate, client }) => {
    await setUpCodes(world, client)
    await world.operator('DELETE', `/operator/v1/users/${mate.id}/second-factors`)
  },
  'the team demands a second factor of them': async ({ world, admin }) => {
    await setUpCodes(world, admin)
    const { teamId } = world.credentials
    await world.call('PATCH', `/v2/teams/team?teamId=${teamId}`, { requireSecondFactor: true })
  },
  'the project is deleted': ({ world }) =>
    world.call.try('DELETE', `/v9/projects/shared?teamId=${world.credentials.teamId}`),
  'the user is removed': ({ world, mate }) => world.operator.try('DELETE', `/operator/v1/users/${mate.id}?force=true`),
}

for (const [way, end] of Object.entries(WAYS))
  onBothEngines(`the stream of an open page ends within a second when ${way} (a bound on time)`, async (world, t) => {
    const origin = await world.listen()
    const team = `teamId=${world.credentials.teamId}`
    assert.equal((await world.call('POST', `/v10/projects?${team}`, { name: 'shared' })).status, 200)
    const mate = await world.user('mate')
    await world.join(mate, 'VIEWER')
    const client = await openSignedInClient(world, mate.id, 'mate')
    const admin = await openSignedInClient(world)
    const [stream, others] = [
      await openEventStream(t, origin, client, TEAM_PAGE),
      await openEventStream(t, origin, admin, TEAM_PAGE),
    ]
    assert.deepEqual([stream.status, others.status], [200, 200])
    await end({ world, mate, client, admin })
    const ended = performance.now()
    await eventually(async () => stream.isOver())
    assertWithin(performance.now() - ended, 1000)
    assert.equal(others.isOver(), way === 'the project is deleted', 'no other user stops receiving')
    const heard = stream.told.length
    const changed = await world.call.try('PATCH', `/v9/projects/shared?${team}`, { framework: 'nextjs' })
    assert.equal(changed.status, way === 'the project is deleted' ? 404 : 200)
    assert.equal(stream.told.length, heard)
    const again = await openEventStream(t, origin, client, TEAM_PAGE, 'x.0')
    assert.ok([204, 403, 404].includes(again.status), String(again.status))
  })

/** TABLE addresses that name an account of another user to a careless reader. */
const SPELLINGS = [
  '/console/t/rival',
  '/console/t/rival%2f..%2fadmin',
  '/console/t/RIVAL',
  '/console/account/../t/rival',
  '/console/t/admin/../rival',
  '/console/t/admin/projects/../../rival',
  '/console/t/rival?x=/console/t/admin',
  '/console/t/admin%00',
  '//console/t/rival',
  '/console/account\n/console/t/rival',
]

onBothEngines('no spelling of an address opens the stream of another account', async (world, t) => {
  await waitForListener(world)
  const origin = await world.listen()
  const client = await openSignedInClient(world)
  const rival = await world.user('rival')
  const since = stampOf((await client.get('/console/t/admin')).text)
  const streams = await Promise.all(
    [...SPELLINGS, `/console/t/${rival.id}`].map((page) => openEventStream(t, origin, client, page, since)),
  )
  for (const { status } of streams) assert.ok([200, 400, 404].includes(status), String(status))
  const open = streams.filter(({ status }) => status === 200)
  assert.ok(open.length > 0, 'some name an account of the user too')
  assert.equal((await rival.call('POST', '/v10/projects', { name: 'theirs' })).status, 200)
  // What the user changes afterwards is sent, so what came before was sent too, or never is.
  assert.equal((await world.call('POST', '/v10/projects', { name: 'mine' })).status, 200)
  const own = `projects ${world.credentials.userId}`
  await eventually(async () => open.every(({ told }) => told.some(({ data }) => data.changed?.includes(own))))
  const heard = open.flatMap(({ told }) => told.flatMap(({ data }) => data.changed ?? []))
  assert.deepEqual(
    heard.filter((name) => name.includes(rival.id)),
    [],
  )
})

/** Open pages are notified of what changes on them, and of nothing else. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createMetrics } from '../../../src/metrics.ts'
import type { ChangedTopics } from '../../../src/platform/db/change-feed.ts'
import { openLive } from '../../../src/platform/live/live.ts'
import { type Client, openClient, openSignedInClient } from '../../support/clients/browser-client.ts'
import { openEventStream, type Stream, stampOf } from '../../support/clients/event-client.ts'
import { eventually } from '../../support/eventually.ts'
import { waitForListener } from '../../support/stores/change-listener.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { migratedDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'

const VARIABLE = { key: 'SECRET_KEY', type: 'encrypted', target: ['production'] }

async function openPages(world: World) {
  await waitForListener(world)
  const made = await world.call('POST', '/v10/projects', { name: 'web' })
  assert.equal(made.status, 200, made.text)
  const origin = await world.listen()
  const client = await openSignedInClient(world)
  const account = '/console/t/admin'
  return { origin, client, account, page: `${account}/projects/web`, id: made.body.id }
}

let values = 0
/** Adds a variable, or gives it another value. */
const addVariable = async (world: World) => {
  const variable = { ...VARIABLE, value: `a-secret-value-${values++}` }
  const added = await world.call('POST', '/v10/projects/web/env?upsert=true', variable)
  assert.equal(added.status, 201, added.text)
}
/** Waits until the stream has received this many notifications. */
const told = (stream: Stream, times: number) => eventually(async () => stream.told.length >= times)

onBothEngines(
  'a variable added through the API is sent to the open page, by name and id alone (a bound on time)',
  async (world, t) => {
    const { origin, client, account, page, id } = await openPages(world)
    const stream = await openEventStream(t, origin, client, `${page}/variables`)
    assert.equal(stream.status, 200)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    assert.equal(stream.headers.get('cache-control'), 'no-store')
    const list = await openEventStream(t, origin, client, account)
    const before = performance.now()
    await addVariable(world)
    await told(stream, 1)
    assertWithin(stream.told[0]!.atMs - before, 1000)
    assert.deepEqual([stream.told[0]!.event, stream.told[0]!.data.changed], ['change', [`project ${id}`]])
    // The list of projects shows how many variables they have.
    await told(list, 1)
    assert.deepEqual(list.told[0]!.data.changed, [`projects ${world.credentials.userId}`])
  },
)

onBothEngines(
  'a stream has a message every 25 s, so that no proxy closes it, and ends once it is older than 30 min',
  async ({ deps, credentials: { userId } }, t) => {
    let now = 0
    t.mock.timers.enable({ apis: ['setInterval'] })
    t.mock.method(performance, 'now', () => now)
    const live = openLive({ ...deps, metrics: createMetrics() })
    const open = () => {
      const heard: string[] = []
      const page = { sessionHash: '', userId, accountId: userId, projectId: undefined }
      const stream = live.open(page, live.stamp()).setEncoding('utf8')
      stream.on('data', (text) => heard.push(text)).on('end', () => heard.push('end'))
      return heard
    }
    const old = open()
    now = 1
    const later = open()
    const heardAt = async (ms: number) => {
      now = ms
      t.mock.timers.tick(25_000)
      await nextTurn()
      return [old.splice(0), later.splice(0)]
    }
    const [beat, max] = [': here\n\n', 30 * 60_000]
    await nextTurn()
    assert.deepEqual([old.splice(0), later.splice(0)], [[beat], [beat]])
    assert.deepEqual(await heardAt(max), [[beat], [beat]])
    assert.deepEqual(await heardAt(max + 1), [['end'], [beat]])
    assert.deepEqual(await heardAt(max + 2), [[], ['end']])
    await live.close()
    t.mock.reset()
  },
)

onBothEngines('a page that names its project by id is notified of it', async (world, t) => {
  const { origin, client, account, id } = await openPages(world)
  const stream = await openEventStream(t, origin, client, `${account}/projects/${id}/variables`)
  assert.equal(stream.status, 200)
  await addVariable(world)
  await told(stream, 1)
  assert.deepEqual(stream.told[0]!.data.changed, [`project ${id}`])
})

onBothEngines('a page is not notified of changes of another page or another account', async (world, t) => {
  const { origin, client, page, id } = await openPages(world)
  const rival = await world.user('rival')
  const stream = await openEventStream(t, origin, client, page)
  await rival.call('POST', '/v10/projects', { name: 'theirs' })
  await world.call('POST', '/v10/projects', { name: 'other' })
  await addVariable(world)
  await told(stream, 1)
  assert.deepEqual(
    stream.told.flatMap(({ data }) => data.changed),
    [`project ${id}`],
  )
})

onBothEngines(
  'a page is notified at once of what has changed since it was read, and of nothing that it already shows',
  async (world, t) => {
    const { origin, client, page } = await openPages(world)
    const previous = stampOf((await client.get(page)).text)
    const { at } = await settled(world, () => addVariable(world))
    const fresh = await openEventStream(t, origin, client, page)
    const late = await openEventStream(t, origin, client, page, previous)
    await told(late, 1)
    assert.deepEqual(late.told[0]!.data.changed, [])
    const elsewhere = await openEventStream(t, origin, client, page, `another.${at}`)
    await told(elsewhere, 1)
    assert.equal(fresh.told.length, 0)
    await addVariable(world)
    await told(fresh, 1)
    const shown = stampOf((await client.get(page)).text)
    const moment = (stamp: string) => Number(stamp.split('.')[1])
    assert.ok(moment(shown) >= moment(fresh.told[0]!.data.at!), 'a page that is read after the change shows it')
  },
)

onBothEngines('the changes of a second are sent together', async (world, t) => {
  const { origin, client, page } = await openPages(world)
  const stream = await openEventStream(t, origin, client, page)
  const before = performance.now()
  for (let n = 0; n < 40; n++) {
    await addVariable(world)
    // So that they take more than 0.8 s together.
    await sleep(25)
  }
  const seconds = (performance.now() - before) / 1000
  // Those that came since the first one are sent together, and then nothing more.
  await sleep(1100)
  await told(stream, 2)
  assert.ok(stream.told.length <= seconds / 0.8 + 2, `${stream.told.length} times in ${seconds} s`)
})

onBothEngines('a user who left the team or signed out gets no more notifications', async (world, t) => {
  const { origin } = await openPages(world)
  const { teamId } = world.credentials
  const team = `teamId=${teamId}`
  await world.call('POST', `/v10/projects?${team}`, { name: 'shared' })
  const mate = await world.user('mate')
  await world.join(mate, 'VIEWER')
  const client = await openSignedInClient(world, mate.id, 'mate')
  const page = `/console/t/team/projects/shared`
  const [first, second] = [
    await openEventStream(t, origin, client, page),
    await openEventStream(t, origin, client, '/console/account'),
  ]
  const owner = await openEventStream(t, origin, await openSignedInClient(world), page)
  const change = () => world.call('POST', `/v1/projects/shared/pause?${team}`, {})
  assert.equal((await change()).status, 200)
  await told(first, 1)
  const removed = await world.operator.try('DELETE', `/operator/v1/teams/${teamId}/members/${mate.id}`)
  assert.ok(removed.status < 300, removed.text)
  await world.call('POST', `/v1/projects/shared/unpause?${team}`, {})
  await eventually(async () => first.isOver())
  assert.deepEqual(
    first.told.slice(1).map(({ event }) => event),
    ['ended'],
  )
  assert.equal((await openEventStream(t, origin, client, page, 'x.0')).status, 404)
  assert.equal(second.isOver(), false)
  await client.get('/console/t/mate')
  assert.equal((await client.post('/sign-out')).status, 303)
  await eventually(async () => second.isOver())
  assert.deepEqual(
    second.told.map(({ event }) => event).filter((event) => event !== 'ended'),
    [],
  )
  assert.equal(owner.isOver(), false)
})

onBothEngines('a member who may not read projects gets no name of one', async (world, t) => {
  const { origin } = await openPages(world)
  const { teamId } = world.credentials
  const { id } = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'shared' })).body
  const clerk = await world.user('clerk')
  await world.join(clerk, 'VIEWER')
  const client = await openSignedInClient(world, clerk.id, 'clerk')
  const project = await openEventStream(t, origin, client, '/console/t/team/projects/shared')
  const list = await openEventStream(t, origin, client, '/console/t/team')
  const placed = await world.operator.try('PUT', `/operator/v1/teams/${teamId}/members/${clerk.id}`, {
    role: 'BILLING',
  })
  assert.ok(placed.status < 300, placed.text)
  await told(list, 1)
  list.told.length = project.told.length = 0
  await world.call('PATCH', `/v9/projects/${id}?teamId=${teamId}`, { framework: 'nextjs' })
  await told(project, 1)
  const names = [...project.told, ...list.told].flatMap(({ data }) => data.changed ?? [])
  assert.deepEqual(
    names.filter((name) => name.startsWith('project')),
    [],
  )
  assert.equal((await openEventStream(t, origin, client, '/console/t/team/projects/shared', 'x.0')).status, 404)
})

onBothEngines('a page whose project was deleted is notified once, and its stream ends', async (world, t) => {
  const { origin, client, page } = await openPages(world)
  const stream = await openEventStream(t, origin, client, page)
  assert.equal((await world.call('DELETE', '/v9/projects/web')).status, 204)
  await eventually(async () => stream.isOver())
  assert.deepEqual(
    stream.told.map(({ event }) => event),
    ['change', 'ended'],
  )
})

onBothEngines('a stream needs a session and a page of its user, and HEAD opens none', async (world, t) => {
  const { origin, client, account } = await openPages(world)
  const rival = await world.user('rival')
  await rival.call('POST', '/v10/projects', { name: 'theirs' })
  const none = await openEventStream(t, origin, openClient(world), account, 'x.0')
  // After a redirect to the sign-in, the browser would complain that the response is not a stream.
  assert.equal(none.status, 204)
  for (const page of [
    '/console/t/rival',
    '/console/t/rival/projects/theirs',
    `${account}/projects/none`,
    '/console/operator',
    '/elsewhere',
    '/console/t/%ff',
    'x',
  ])
    assert.equal((await openEventStream(t, origin, client, page, 'x.0')).status, 404, page)
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const head = await fetch(`${origin}/console/live?page=${account}&since=x.0`, { method: 'HEAD', headers: { cookie } })
  assert.equal(head.status, 200)
  assert.match((await world.operator('GET', '/metrics')).text, /^berth_live_pages 0$/m)
})

onBothEngines(
  'a user has at most 100 pages with live updates; the oldest is closed with a reason, and a teammate loses nothing',
  async (world, t) => {
    const { origin, client } = await openPages(world)
    const mate = await world.user('mate')
    await world.join(mate, 'VIEWER')
    const [team, own] = ['/console/t/team', '/console/account']
    const other = await openEventStream(t, origin, await openSignedInClient(world, mate.id, 'mate'), team)
    const first = await openEventStream(t, origin, client, team)
    const stamp = stampOf((await client.get(own)).text)
    for (let n = 1; n < 100; n++) await openEventStream(t, origin, client, own, stamp)
    assert.deepEqual([first.isOver(), first.told], [false, []])
    const last = await openEventStream(t, origin, client, own, stamp)
    assert.equal(last.status, 200)
    await eventually(async () => first.isOver())
    assert.deepEqual(
      first.told.map(({ event }) => event),
      ['full'],
    )
    assert.match(first.told[0]!.data.message!, /^You have 100 pages with .* Reload it to resume\.$/)
    assert.deepEqual([last.isOver(), other.isOver()], [false, false])
    assert.match((await world.operator('GET', '/metrics')).text, /^berth_live_pages 101$/m)
  },
)

onBothEngines('a page that answers a form does not follow, and a page without the console neither', async (world) => {
  const { client, account } = await openPages(world)
  await client.get(`${account}/new`)
  const refused = await client.post(`${account}/new`, { name: 'Not A Name' })
  assert.equal(refused.status, 400)
  assert.doesNotMatch(refused.text, /berth-live/)
  assert.doesNotMatch((await openClient(world).get('/sign-in')).text, /berth-live/)
})

test('a page is notified of what another instance wrote (a bound on time) [postgres]', {
  timeout: 300_000,
}, async (t) => {
  const DATABASE_URL = await migratedDatabase()
  const one = await openWorld('postgres', { DATABASE_URL })
  const other = await openWorld('postgres', { DATABASE_URL, BERTH_KEYS: join(one.folder, 'keys.json') })
  try {
    await waitForListener(other)
    const heard: ChangedTopics[] = []
    other.deps.db.changes.onInvalidate((changed) => heard.push(changed))
    const { client, page, id } = await openPages(one)
    // The whole project was notified: of a new one the list comes last.
    await eventually(() => heard.flat().some((subject) => subject.startsWith('projects ')))
    const origin = await other.listen()
    const asked: Client = { ...client, get: (url) => openedOn(other, client, url) }
    const stream = await openEventStream(t, origin, asked, page)
    const before = performance.now()
    await addVariable(one)
    await told(stream, 1)
    assertWithin(stream.told[0]!.atMs - before, 1500)
    assert.deepEqual(stream.told[0]!.data.changed, [`project ${id}`])
  } finally {
    await other.close()
    await one.close()
  }
})

/** Asks another instance for a page with the cookies of a client. */
async function openedOn({ app }: World, { cookies }: Client, url: string) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await app.inject({ method: 'GET', url, headers: { cookie } })
  return { status: answer.statusCode, text: answer.payload, headers: answer.headers, location: '' }
}

/** Does something, and waits until its stamp is raised: on PostgreSQL that is soon after. */
async function settled(world: World, change: () => Promise<void>): Promise<{ at: number }> {
  const { changes } = world.deps.db
  const before = changes.version()
  await change()
  await eventually(async () => changes.version() > before)
  return { at: changes.version() }
}

/**
 * The console allows what a token of the same user allows, over every route and every page: the same refusals, audit entries and
 * events. New routes and pages are covered without being named here. docs/console.md: Implementation.
 */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { createGates } from '../../src/platform/fairness/gate.ts'
import type { Route } from '../../src/platform/http/route.ts'
import { createRouteClient } from '../../src/platform/pages/route-client.ts'
import type { CallRoute, RouteCall } from '../../src/platform/pages/screen.ts'
import { ROLES } from '../../src/platform/permissions/roles.ts'
import { Refusal } from '../../src/platform/refusals/refusal.ts'
import { ROUTES } from '../../src/routes.ts'
import { SCREENS } from '../../src/screens.ts'
import { withQuery } from '../support/call.ts'
import { type Client, openClient, openSignedInClient } from '../support/clients/browser-client.ts'
import {
  OPERATORS,
  PUBLIC,
  type SampleRequest,
  sampleRequest,
  seedSamples,
  teamQuery,
} from '../support/sample-requests.ts'
import { digest } from '../support/stores/digest.ts'
import { onBothEngines, openWorld, type World } from '../support/world.ts'

/** A token is asked about itself there, and a session has none. */
const OF_THE_TOKEN = new Set(['getAuthToken', 'deleteAuthToken'])
/** These start background work, or open connections of their own. */
const BESIDE = new Set(['operatorMakeBackup', 'operatorVerifyBackup', 'operatorGetHealth'])
const FORMS = CONSOLE.filter(({ method }) => method === 'POST')

/** Creates the route client of a user's session. */
function askerOf(world: World, client: Client, userId: string): CallRoute {
  const bridge = createRouteClient(
    world.deps,
    ROUTES,
    SCREENS,
    createGates(world.deps.db.engine, () => true),
  )
  const secret = client.cookies.get('berth_session') ?? assert.fail('not signed in')
  const peer = { remoteAddress: '127.0.0.1' } as Parameters<typeof bridge.clientFor>[0]['peer']
  return bridge.clientFor(
    { secret, userId, peer },
    ROUTES.map(({ operationId }) => operationId),
  )
}

/** Returns how the route refuses the call; undefined when it does not. */
function refusalOf(ask: CallRoute, route: Route, wish: RouteCall): Promise<[number, string] | undefined> {
  return ask(route.operationId, wish).then(
    () => undefined,
    (error) => {
      if (error instanceof Refusal) return [error.status, error.message]
      throw error
    },
  )
}

/** A request as the route call of a page: path parameters and query. */
async function wishOf({ path }: Route, { url, body }: SampleRequest): Promise<RouteCall> {
  const [asked = '', search = ''] = url.split('?')
  const values = asked.split('/')
  const named = path
    .split('/')
    .flatMap((part, at) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(values[at]!)]] : []))
  const query = Object.fromEntries(new URLSearchParams(search))
  return { params: Object.fromEntries(named), query, body: body instanceof Blob ? await body.text() : body }
}

/** A request that changes nothing for any caller: its resource does not exist and its body is empty. */
function unknownOf(route: Route): SampleRequest {
  const body = route.body === undefined ? undefined : route.textBody ? new Blob(['?'], { type: 'text/plain' }) : {}
  return { method: route.method, url: route.path.replaceAll(/:\w+/g, 'unknown'), body }
}

/** A user of each role, and one without a role. */
async function openPeople(world: World) {
  return Promise.all(
    [...ROLES, 'outsider'].map(async (role) => {
      const user = await world.user(role.toLowerCase())
      if (role !== 'outsider') await world.join(user, role)
      return { role, user, client: await openSignedInClient(world, user.id, role.toLowerCase()) }
    }),
  )
}

onBothEngines("every route refuses a user's session as it refuses their token, in each role", async (world) => {
  const { teamId } = world.credentials
  for (const { role, user, client } of await openPeople(world)) {
    const ask = askerOf(world, client, user.id)
    for (const route of PUBLIC.filter(({ operationId }) => !OF_THE_TOKEN.has(operationId))) {
      const asked = unknownOf(route)
      const wish = { ...(await wishOf(route, asked)), account: { id: teamId } }
      const byToken = await user.call.try(asked.method, withQuery(asked.url, `teamId=${teamId}`), asked.body)
      const expected = byToken.status < 400 ? undefined : [byToken.status, byToken.body.error.message]
      assert.deepEqual(await refusalOf(ask, route, wish), expected, `${role} ${route.operationId}`)
    }
    for (const route of OPERATORS) {
      const refused = await refusalOf(ask, route, await wishOf(route, unknownOf(route)))
      assert.equal(refused?.[0], 401, `${role} ${route.operationId}`)
    }
  }
})

onBothEngines(
  'every route refuses an ended session at once, and every page redirects to the sign-in',
  async (world) => {
    const client = await openSignedInClient(world)
    const ask = askerOf(world, client, world.credentials.userId)
    await world.operator('PATCH', '/operator/v1/users/admin', { suspended: true })
    for (const route of [...PUBLIC, ...OPERATORS])
      assert.equal((await refusalOf(ask, route, await wishOf(route, unknownOf(route))))?.[0], 401, route.operationId)
    for (const { path } of CONSOLE.filter(({ method }) => method === 'GET')) {
      const answer = await client.get(path.replaceAll(/:\w+/g, 'team'))
      // A stream that led elsewhere would be asked for again for ever.
      if (path === '/console/live') assert.equal(answer.status, 204)
      else assert.match(answer.location, /^\/sign-in\?return=/, path)
    }
  },
)

/** The audit entries and events of a request, without what differs between stores. */
async function tracesOf(world: World, act: () => Promise<unknown>) {
  const read = async () => ({
    audit: await world.deps.db.read
      .selectFrom('audit')
      .select(['type', 'actor_kind', 'fields_json', 'stamp'])
      .orderBy('stamp')
      .execute(),
    events: await world.deps.db.read.selectFrom('event').select(['type', 'stamp']).orderBy('stamp').execute(),
  })
  const before = await read()
  await act()
  // Entries of secret reads are written in a batch, later.
  await world.deps.secretReads.write()
  const after = await read()
  return {
    audit: after.audit.slice(before.audit.length).map(({ stamp, ...line }) => line),
    events: after.events.slice(before.events.length).map(({ type }) => type),
  }
}

onBothEngines('a good request leaves the same audit lines and events by a session as by a token', async (world) => {
  const other = await openWorld(world.engine)
  try {
    const [byToken, bySession] = [await seedSamples(world), await seedSamples(other)]
    const client = await openSignedInClient(other)
    const ask = askerOf(other, client, other.credentials.userId)
    const late = ({ method, operationId }: Route) =>
      Number(method === 'DELETE') + Number(operationId === 'deleteProject')
    const routes = [...PUBLIC, ...OPERATORS].filter(
      ({ operationId }) => !OF_THE_TOKEN.has(operationId) && !BESIDE.has(operationId),
    )
    let lines = 0
    for (const route of routes.toSorted((one, two) => late(one) - late(two))) {
      const asked = sampleRequest(route, byToken)
      const query = teamQuery(route, byToken)
      const call = route.auth === 'operator' ? world.operator : world.call
      const expected = await tracesOf(world, () => call.try(asked.method, withQuery(asked.url, query), asked.body))
      const wish = await wishOf(route, sampleRequest(route, bySession))
      const account = query === '' ? {} : { account: { id: bySession.teamId } }
      const actual = await tracesOf(other, () => refusalOf(ask, route, { ...wish, ...account }))
      assert.deepEqual(actual, expected, route.operationId)
      lines += expected.audit.length
    }
    assert.ok(lines > 80, `${lines} lines of the audit log were compared`)
  } finally {
    await other.close()
  }
})

onBothEngines('a page refuses a role exactly when its routes refuse it', async (world) => {
  const { teamId } = world.credentials
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const byName = new Map(ROUTES.map((route) => [route.operationId, route]))
  for (const { role, user, client } of await openPeople(world)) {
    await client.get('/console')
    for (const { method, path, calls = [], requiresCall, name } of CONSOLE.filter(({ path }) =>
      path.includes('/:slug'),
    )) {
      const url = path.replace(':slug', slug).replaceAll(/:\w+/g, 'unknown')
      await client.get('/sign-in')
      await client.get(`/console/t/${role.toLowerCase()}`)
      const { status } = await (method === 'GET' ? client.get(url) : client.post(url))
      if (role === 'outsider') {
        assert.equal(status, 404, `${role} ${name}`)
        continue
      }
      const isForbidden = async (operation: string) => {
        const { url: asked, body, method: verb } = unknownOf(byName.get(operation)!)
        // A route of a team names it in its path too.
        const ofTeam = asked.replace('/teams/unknown', `/teams/${teamId}`)
        return (await user.call.try(verb, withQuery(ofTeam, `teamId=${teamId}`), body)).status === 403
      }
      // The first is what a form asks, and what a page begins with.
      const forbidden = await Promise.all(
        [...calls, ...(requiresCall === undefined ? [] : [requiresCall])].map(isForbidden),
      )
      // The form is empty and what it is about is unknown, so its page may refuse it before and after the route does.
      if (method === 'POST') assert.ok(forbidden[0] ? status >= 400 : status !== 403, `${role} ${name}: ${status}`)
      else if (status === 403) assert.ok(forbidden.includes(true), `${role} ${name}: ${status}`)
      else if (forbidden.length > 0) assert.ok(forbidden.includes(false), `${role} ${name}: ${status}`)
    }
  }
})

onBothEngines(
  'no form is accepted that is forged, of another site, of another session, or of an ended one',
  async (world) => {
    const client = await openSignedInClient(world)
    const other = openClient(world)
    await other.get('/sign-in')
    const [mine, theirs] = [await tokenOf(client), other.token()]
    const before = await digest(world)
    for (const { path, name } of FORMS) {
      const url = path.replaceAll(/:\w+/g, 'team')
      for (const [fields, headers] of [
        [{ form: 'forged' }, {}],
        [{ form: theirs }, {}],
        [{ form: '' }, {}],
        [{ form: mine }, { 'sec-fetch-site': 'cross-site' }],
        [{ form: mine }, { 'sec-fetch-site': 'same-site' }],
        [{ form: mine }, { origin: 'https://evil.example' }],
      ] as const) {
        const answer = await client.post(url, fields, headers)
        assert.equal(answer.status, 403, `${name} ${JSON.stringify({ fields, headers })}`)
      }
    }
    assert.equal(await digest(world), before)
    await client.get('/console/t/admin')
    await client.post('/sign-out')
    const after = await digest(world)
    for (const { path, name } of FORMS) {
      const answer = await client.post(path.replaceAll(/:\w+/g, 'team'), { form: mine })
      assert.match(answer.location, /^\/sign-in/, name)
    }
    assert.equal(await digest(world), after)
  },
)

async function tokenOf(client: Client): Promise<string> {
  await client.get('/console/t/admin')
  return client.token()
}

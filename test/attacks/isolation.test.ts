/**
 * Every public operation × who asks × what is named × for which team: what is not theirs is answered as what does not exist,
 * changes nothing, and reveals nothing. The rule is written here by hand and not read from the code.
 */

import assert from 'node:assert/strict'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { SCOPES } from '../../src/platform/permissions/scopes.ts'
import { callOver, withQuery } from '../support/call.ts'
import { CLIENTS, OPERATORS, PUBLIC, sampleRequest } from '../support/sample-requests.ts'
import { disableInstallation } from '../support/states.ts'
import { digest } from '../support/stores/digest.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../support/world.ts'
import { consentAndInstall, exchange, seedIntegration } from '../support/worlds/integration-world.ts'
import { FULL, SEED, sayFigure } from './form.ts'
import { openTenant, type Tenant, unknownLike, unknownOf } from './tenants.ts'

/** In the short form one of this many cases is asked, by the seed. */
const ONE_OF = FULL ? 1 : 24

type Outcome = 'stranger' | 'refused' | 'personal' | 'team'
type Principal = {
  name: string
  call: Call
  /** For what it acts when it names no team, and when it names its own. */
  without: Outcome
  withOwn: Outcome
  /** Whether it may write what is its own: then it is not let try, for the store must stay as it is. */
  writes: boolean
  /** Whether the project `web` of its team is there for it. */
  seesWeb: boolean
  /** Of whom no byte may reach it. */
  hidden: Tenant[]
}

const STRANGER = { without: 'stranger', withOwn: 'stranger', writes: false, seesWeb: false } as const
const MEMBER = { without: 'personal', withOwn: 'team', writes: true, seesWeb: true } as const
const BOUND = { without: 'team', withOwn: 'team' } as const
const INSTALLED = { without: 'refused', withOwn: 'team', writes: true, seesWeb: true } as const
const ROLES = ['MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING'] as const

/** Everyone who could ask, seen from the team `own`; the other one is foreign to them. */
async function principalsOf(world: World, own: Tenant, foreign: Tenant): Promise<Principal[]> {
  const { teamId } = own
  const teams = [own, foreign]
  const outsider = await world.user('outsider')
  const principals: Principal[] = [
    { ...STRANGER, name: 'anonymous', call: world.as(undefined), hidden: teams },
    { ...STRANGER, name: 'an unknown token', call: world.as(`berth_${'x'.repeat(43)}`), hidden: teams },
    { ...STRANGER, name: 'the operator', call: world.operator, hidden: teams },
    { ...STRANGER, name: 'a client', call: clientOf(world, own), hidden: teams },
    { ...MEMBER, name: 'a user of no team', withOwn: 'refused', call: outsider.call, hidden: teams },
    { ...MEMBER, name: 'OWNER', call: own.owner, hidden: [foreign] },
  ]
  for (const role of ROLES) {
    const user = await world.user(`of-${role.toLowerCase()}`)
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${user.id}`, { role })
    const writes = role === 'MEMBER' || role === 'DEVELOPER'
    principals.push({ ...MEMBER, name: role, writes, call: user.call, hidden: [foreign] })
  }
  // An OWNER of the foreign team, who only reads here, with a token for here.
  const both = await world.user('both')
  await world.operator('PUT', `/operator/v1/teams/${foreign.teamId}/members/${both.id}`, { role: 'OWNER' })
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${both.id}`, { role: 'VIEWER' })
  const bound = await tokenOf(world, { userId: both.id, teamId })
  principals.push({
    ...BOUND,
    name: 'a foreign OWNER by a token of this team',
    writes: false,
    seesWeb: true,
    call: bound,
    hidden: [foreign],
  })
  const narrow = await tokenOf(world, { userId: own.ownerId, teamId, projectIds: [own.otherProjectId] })
  principals.push({
    ...BOUND,
    name: 'a token of another project',
    writes: true,
    seesWeb: false,
    call: narrow,
    hidden: [foreign],
  })
  return [...principals, ...(await installationsOf(world, own, foreign))]
}

async function installationsOf(world: World, own: Tenant, foreign: Tenant): Promise<Principal[]> {
  const made = async (slug: string, projects: 'all' | string[]) => {
    const scopes = SCOPES.map((scope) => `read-write:${scope}`)
    const app = await seedIntegration(world, { slug, name: slug, teamId: own.teamId, scopes })
    const { code, installationId } = await consentAndInstall(world, app, {
      userId: own.ownerId,
      teamId: own.teamId,
      projects,
    })
    return { installationId, call: world.as((await exchange(world, app, code)).body.access_token) }
  }
  const all = await made('sees-all', 'all')
  const some = await made('sees-some', [own.otherProjectId])
  const disabled = await made('disabled', 'all')
  await disableInstallation(world, disabled.installationId)
  return [
    { ...INSTALLED, name: 'an installation', call: all.call, hidden: [foreign] },
    { ...INSTALLED, name: 'an installation on another project', seesWeb: false, call: some.call, hidden: [foreign] },
    { ...INSTALLED, name: 'a disabled installation', withOwn: 'refused', call: disabled.call, hidden: [own, foreign] },
  ]
}

async function tokenOf(world: World, wanted: object): Promise<Call> {
  const made = await world.operator('POST', '/operator/v1/tokens', wanted)
  assert.equal(made.status, 201, made.text)
  return world.as(made.body.token)
}

/** An app with its secret, as it asks at the doors for apps. */
function clientOf(world: World, { samples }: Tenant): Call {
  const { clientId, clientSecret } = samples.apps.helper
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const call = world.as(undefined)
  return callOver((method, url, body, headers) => call.try(method, url, body, { ...headers, authorization }))
}

type Team = { query: string; own: boolean | undefined }

/** How a request can name a team; `own` is undefined when it names none. */
function teamsOf(own: Tenant, foreign: Tenant): Team[] {
  return [
    { query: '', own: undefined },
    { query: `teamId=${own.teamId}`, own: true },
    { query: `slug=${own.mark}`, own: true },
    { query: `teamId=${own.teamId}&slug=${own.mark}`, own: true },
    { query: `teamId=${foreign.teamId}`, own: false },
    { query: `slug=${foreign.mark}`, own: false },
    { query: `teamId=${own.teamId}&slug=${foreign.mark}`, own: false },
    { query: `teamId=${foreign.teamId}&slug=${own.mark}`, own: false },
  ]
}

type Addressing = {
  names: 'own' | 'foreign' | 'mixed'
  samples: Tenant['samples']
  path: Record<string, string>
  /** The same with nothing there. */
  nothing: Record<string, string>
}

/** What the path of the route can name: own and foreign, by id and by name, and a foreign part below an own one or above it. */
function addressingsOf(route: Route, own: Tenant, foreign: Tenant): Addressing[] {
  const parts = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!).filter((name) => !FIXED.has(name))
  const full = (tenant: Tenant, names: Record<string, string>): Record<string, string> => ({
    id: idIn(route, tenant),
    ...names,
    ...(OF_ACCOUNT_DOMAIN.test(route.path) && { domain: `${tenant.mark}.org` }),
  })
  const ownNames = full(own, own.byId)
  const foreignNames = full(foreign, foreign.byId)
  const one = (names: Addressing['names'], tenant: Tenant, path: Record<string, string>): Addressing => ({
    ...{ names, samples: tenant.samples, path },
    nothing: { ...path, ...unknownLike(path) },
  })
  const all = [one('own', own, ownNames), one('own', own, { ...full(own, own.byName), ...SHARED })]
  if (parts.length === 0) return all.slice(0, 1)
  all.push(one('foreign', foreign, foreignNames), one('foreign', foreign, full(foreign, foreign.byName)))
  if (parts.length < 2) return all
  for (const [above, below] of [
    [ownNames, foreignNames],
    [foreignNames, ownNames],
  ] as const) {
    const path = { ...below, [parts[0]!]: above[parts[0]!]! }
    const strange = above === ownNames ? unknownLike(below) : below
    const first = above === ownNames ? above[parts[0]!]! : unknownOf(above[parts[0]!]!)
    all.push({ names: 'mixed', samples: own.samples, path, nothing: { ...strange, [parts[0]!]: first } })
  }
  return all
}

/** Both teams call a project so. */
const SHARED = { idOrName: 'web', projectId: 'web' }
/** Parts of a path that do not name anything that a user owns. */
const FIXED = new Set(['target', 'gitBranch', 'version', 'provider', 'name'])

const OF_ACCOUNT_DOMAIN = /^\/v\d+\/domains\/:domain(\/(verification|claim))?$/

function idIn(route: Route, { samples }: Tenant): string {
  const template = unversionedPath(route.path).replaceAll(/:(\w+)/g, '(?<$1>[^/?]+)')
  return new RegExp(`^${template}`).exec(unversionedPath(sampleRequest(route, samples).url))?.groups?.id ?? ''
}

/** What a user has, whatever team they act for: their tokens, and the teams that they are in. */
const OF_PERSONS = /^\/(v\d+\/)?(user|teams)\b/

type Case = { route: Route; principal: Principal; team: Team; addressing: Addressing }

onBothEngines('no request reaches anything of another team', async (world) => {
  const own = await openTenant(world, 'alpha')
  const foreign = await openTenant(world, 'omega')
  const principals = await principalsOf(world, own, foreign)
  const cases = casesOf(principals, own, foreign)
  const before = await digest(world)
  const tally = { asked: 0, compared: 0, reached: 0 }
  const ask = askerOf(tally)
  const refusals = new Map<string, string>()
  const crossings: string[] = []
  for (let at = 0; at < cases.length; at += 16) {
    const judged = cases.slice(at, at + 16).map((one) => judge(one, ask, refusals, tally))
    for (const end of await Promise.allSettled(judged))
      if (end.status === 'rejected') crossings.push(String(end.reason.message))
  }
  assert.equal(crossings.length, 0, `${crossings.length} crossings:\n${crossings.slice(0, 20).join('\n')}`)
  assert.equal(await digest(world), before, 'a request changed what is stored')
  assert.ok(tally.reached > 0, 'the owner reached nothing: the matrix shows nothing')
  const door = await strangersAtOtherDoors(world, principals, own)
  assert.equal(await digest(world), before, 'a request at another door changed what is stored')
  sayFigure(
    `isolation [${world.engine}]: ${cases.length} cases (${PUBLIC.length} operations, ${principals.length} principals, 8 ways to name a team), ` +
      `${tally.compared} compared with what is not there, ${door} at other doors, ${tally.reached} reached what is their own; 0 crossings`,
  )
})

function casesOf(principals: Principal[], own: Tenant, foreign: Tenant): Case[] {
  const cases: Case[] = []
  for (const route of PUBLIC) {
    for (const addressing of addressingsOf(route, own, foreign)) {
      for (const principal of principals) {
        for (const team of teamsOf(own, foreign)) cases.push({ route, principal, team, addressing })
      }
    }
  }
  const may = cases.filter((one) => !wouldWrite(one))
  return may.filter((_, at) => (Math.imul(at + SEED, 2_654_435_761) >>> 8) % ONE_OF === 0)
}

function outcomeOf({ principal, team }: Case): Outcome {
  if (team.own === undefined) return principal.without
  if (team.own) return principal.withOwn
  return principal.without === 'stranger' ? 'stranger' : 'refused'
}

/** A request with a body may read alone. */
function isRead({ method, reads }: Route): boolean {
  return method === 'GET' || reads === true
}

/** What users own, or create, they may change. Tokens belong to each user. */
function wouldWrite(one: Case): boolean {
  const outcome = outcomeOf(one)
  if (isRead(one.route) || one.addressing.names !== 'own') return false
  if (outcome !== 'team' && outcome !== 'personal') return false
  return one.principal.writes || outcome === 'personal' || /\/user\/tokens/.test(one.route.path)
}

type Ask = (one: Case, path: Record<string, string>) => Promise<{ answer: ApiResponse; text: string; url: string }>

/** Asks, and gives the answer also as text in which what was named is a dot. */
function askerOf(tally: { asked: number }): Ask {
  return async ({ route, principal, team, addressing }, path) => {
    const { method, url, body } = sampleRequest(route, addressing.samples, path)
    const full = withQuery(url, team.query)
    const answer = await principal.call.try(method, full, body)
    tally.asked++
    const said = [
      ...Object.values(path).flatMap((name) => [name, name.split('.').slice(-2).join('.')]),
      ...team.query.split(/[=&]/),
      ...textsIn(body),
    ]
    const longest = said.filter((one) => one.length > 2).sort((a, b) => b.length - a.length)
    const whole = `${answer.status} ${JSON.stringify(answer.headers.link ?? '')} ${answer.text}`
    return {
      answer,
      url: `${principal.name}: ${method} ${full}`,
      text: longest.reduce(
        (text, one) => text.replaceAll(new RegExp(`(?<!\\w)${RegExp.escape(one)}(?!\\w)`, 'g'), '·'),
        whole,
      ),
    }
  }
}

function textsIn(body: unknown): string[] {
  if (typeof body !== 'object' || body === null || body instanceof Blob) return []
  return Object.values(body).flatMap((value) => (typeof value === 'string' ? [value] : []))
}

async function judge(one: Case, ask: Ask, refusals: Map<string, string>, tally: { compared: number; reached: number }) {
  const { route, principal, addressing } = one
  const { answer, text, url } = await ask(one, addressing.path)
  const outcome = outcomeOf(one)
  const said = `${url}: ${answer.status} ${answer.text.slice(0, 400)}`
  const personal = OF_PERSONS.test(unversionedPath(route.path))
  if (!(personal && principal.name.startsWith('a foreign OWNER'))) {
    for (const tenant of principal.hidden) tellsNothingOf(tenant, text, said)
  }
  if (outcome === 'stranger' || outcome === 'refused') {
    assert.equal(answer.status, outcome === 'stranger' ? 401 : 403, said)
    const key = `${principal.name} ${one.team.own === undefined}`
    assert.equal(refusals.get(key) ?? answer.text, answer.text, said)
    refusals.set(key, answer.text)
    return
  }
  const isThere =
    addressing.names === 'own' && outcome === 'team' && (principal.seesWeb || !/idOrName|projectId/.test(route.path))
  if (isThere || !/:/.test(route.path) || (addressing.names === 'own' && personal)) {
    if (!isRead(route)) assert.ok(answer.status === 403 || answer.status === 404, said)
    else if (principal.name === 'OWNER' && outcome === 'team') assert.equal(answer.status, 200, said)
    if (answer.status === 200) tally.reached++
    return
  }
  if (personal && principal.name.startsWith('a foreign OWNER')) return
  // Of a name that no account has here some things can be said: an empty list, what the DNS says.
  if (route.method !== 'GET') assert.ok(answer.status >= 400 && answer.status < 500, said)
  // Of its own team a narrow token misses the projects, and nothing else.
  const { path } = addressing
  const unseen = { ...path, idOrName: unknownOf(path.idOrName!), projectId: unknownOf(path.projectId!) }
  const nothing = await ask(one, outcome === 'team' && addressing.names === 'own' ? unseen : addressing.nothing)
  assert.equal(text, nothing.text, `${url} is not answered as ${nothing.url}`)
  tally.compared++
}

/** No name, value or id of the tenant. */
function tellsNothingOf({ mark, samples, teamId, ownerId, otherProjectId }: Tenant, text: string, said: string): void {
  const { projectId, envId, deploymentId, webhookId, deliveryId, drainId, mateId, installationId } = samples
  const ids = [
    teamId,
    ownerId,
    otherProjectId,
    projectId,
    envId,
    deploymentId,
    webhookId,
    deliveryId,
    drainId,
    mateId,
    installationId,
  ]
  for (const secret of [mark, ...ids]) assert.ok(!text.includes(secret), `${said}\ntells of ${secret}`)
}

/** At the doors of the operator and of apps everyone else is unauthenticated. */
async function strangersAtOtherDoors(
  world: World,
  principals: Principal[],
  { samples, byId }: Tenant,
): Promise<number> {
  let asked = 0
  for (const route of [...OPERATORS, ...CLIENTS]) {
    for (const { name, call } of principals) {
      if (name === 'the operator' || (name === 'a client' && route.auth === 'client')) continue
      const path = { ...byId, id: 'none', name: 'old-events', provider: 'bitbucket' }
      const { method, url, body } = sampleRequest(route, samples, path)
      const { client_secret: _, ...nameless } = (body ?? {}) as Record<string, unknown>
      const sent = route.auth === 'client' ? nameless : body
      const answer = await call.try(method, url, sent)
      assert.ok(
        answer.status === 401 || (route.auth === 'client' && answer.status === 400),
        `${name}: ${method} ${url} ${answer.text}`,
      )
      asked++
    }
  }
  assert.equal(world.logged().includes('"level":50'), false)
  return asked
}

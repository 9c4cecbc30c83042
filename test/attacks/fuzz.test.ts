/** Property: whatever is asked, the answer is one that the OpenAPI document says of the operation. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import fc from 'fast-check'
import type { Route } from '../../src/platform/http/route.ts'
import { SCOPES } from '../../src/platform/permissions/scopes.ts'
import { ROUTES } from '../../src/routes.ts'
import { withQuery } from '../support/call.ts'
import { callerOf, type Samples, sampleRequest, seedSamples } from '../support/sample-requests.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../support/world.ts'
import { seedInstallation } from '../support/worlds/integration-world.ts'
import { faultOf } from './document.ts'
import { FULL, SEED, sayFigure } from './form.ts'
import { KNOWN, pathWith, type Request, requests, spoiled } from './requests.ts'

/** Requests on each engine: more than 100,000 in all, most on the one that answers faster. */
const COUNT = FULL ? { sqlite: 70_000, postgres: 32_000 } : { sqlite: 1200, postgres: 800 }
/** A world is left for a new one after this many: by then much of it is gone. */
const A_PLACE = 2000

type Field = {
  world: World
  samples: Samples
  callers: Record<Request['caller'], Call>
  /** Ids and the like from answers, newest first, by their prefix. */
  known: Map<string, string[]>
  ownTokenId: string
}

const seen = { requests: 0, good: 0, operations: new Set<string>(), statuses: new Map<number, number>() }

for (let part = 0; part * A_PLACE < Math.max(COUNT.sqlite, COUNT.postgres); part++) {
  onBothEngines(`every answer is one that the OpenAPI document says, part ${part} of seed ${SEED}`, async (world) => {
    const count = Math.min(A_PLACE, COUNT[world.engine] - part * A_PLACE)
    if (count <= 0) return
    const field = await openField(world)
    const property = fc.asyncProperty(requests, (request) => mustBeSaid(field, request))
    await fc.assert(property, { numRuns: count, seed: SEED + part })
    const { status } = await field.callers.owner('GET', '/v9/projects')
    assert.equal(status, 200)
    for (const line of world.logged().split('\n').filter(Boolean)) JSON.parse(line)
  })
}

after(() => {
  const statuses = [...seen.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`)
  sayFigure(`fuzz: ${seen.requests} requests from seed ${SEED}, ${seen.good} taken, ${statuses.join(', ')}`)
  sayFigure(`fuzz: ${seen.operations.size} of ${ROUTES.length} operations were taken at least once`)
  const never = ROUTES.filter(({ operationId }) => !seen.operations.has(operationId)).map((one) => one.operationId)
  assert.ok(
    seen.good > seen.requests / 5,
    `only ${seen.good} of ${seen.requests} were taken: the fuzz has lost its aim`,
  )
  if (FULL) assert.ok(seen.requests >= 100_000, `${seen.requests} requests`)
  if (FULL) assert.deepEqual(never, [], 'operations that no request of the fuzz succeeded at')
})

async function openField(world: World): Promise<Field> {
  const samples = await seedSamples(world)
  const { clientId, clientSecret } = samples.apps.helper
  const installed = await seedInstallation(
    world,
    { slug: 'fuzzed', scopes: SCOPES.map((one) => `read-write:${one}`) },
    { teamId: undefined },
  )
  const tokens = (await world.call('GET', '/v5/user/tokens/current')).body
  const known = new Map(
    Object.entries({
      prj: [samples.projectId, samples.rival.projectId],
      usr: [samples.userId, samples.spare.id, samples.mateId],
      team: [samples.teamId, samples.rival.teamId],
      client_id: [clientId],
      client_secret: [clientSecret],
      code: [samples.code, samples.transferCode],
      token: [installed.token],
    }),
  )
  const callers = {
    ...{ owner: world.call, rival: samples.rival.call, operator: world.operator },
    ...{ installation: installed.call, nobody: world.as(undefined) },
  }
  return { world, samples, callers, known, ownTokenId: tokens.token.id }
}

async function mustBeSaid(field: Field, request: Request): Promise<void> {
  const { caller } = request
  const route = routeOf(request)
  const { url, body, contentType } = request.sample === undefined ? filled(field, request) : sampled(field, request)
  // Who has no token any more asks nothing of interest.
  if (url.includes(field.ownTokenId) && route.method === 'DELETE') return
  if (route.operationId === 'operatorDeleteUser' && url.includes(field.samples.userId)) return
  const call = caller === 'owner' ? callerOf(route, field.world) : field.callers[caller]
  const headers = contentType === undefined ? {} : { 'content-type': contentType }
  const answer = await call.try(route.method, url, body, headers)
  const said = `${route.method} ${url} as ${caller}, ${contentType}: ${body?.toString().slice(0, 1000)}\n${answer.status} ${answer.text.slice(0, 600)}`
  seen.requests++
  seen.statuses.set(answer.status, (seen.statuses.get(answer.status) ?? 0) + 1)
  assert.ok(answer.status < 500 || answer.body?.error.code === 'dns_unavailable', said)
  assert.equal(({} as { polluted?: unknown }).polluted, undefined, said)
  if (request.sample !== undefined || !leadsElsewhere(request)) assert.equal(faultOf(route, answer), undefined, said)
  if (answer.status < 300) {
    seen.good++
    seen.operations.add(route.operationId)
    learn(field, answer)
    await mend(field, route.operationId)
  }
}

function routeOf({ operationId }: Request): Route {
  return ROUTES.find((route) => route.operationId === operationId)!
}

/** A path in which a name is empty, or dots, is that of another resource. */
function leadsElsewhere({ path }: Request): boolean {
  return Object.values(path).some((named) => named.from === 'text' && /^\.{0,2}$/.test(named.text))
}

type Sent = { url: string; body: Buffer | string | undefined; contentType: string | undefined }

/** The request as it is sent: with ids of what is there. */
function filled({ samples, known }: Field, request: Request): Sent {
  const { version, path, query, contentType } = request
  const route = routeOf(request)
  const sample = namesIn(route.path, sampleRequest(route, samples).url)
  const text = (said: string) =>
    said.replaceAll(KNOWN, (_, prefix: string, at: string) => pick(known.get(prefix), Number(at)))
  const name = (param: string) => {
    const named = path[param]!
    if (named.from === 'text') return encodeURIComponent(named.text)
    const prefix = /^(\w+?)_/.exec(sample[param]!)?.[1] ?? (/idOrName|projectId/.test(param) ? 'prj' : param)
    return named.from === 'known'
      ? known.has(prefix)
        ? pick(known.get(prefix), named.at)
        : sample[param]!
      : sample[param]!
  }
  const more = query.map(([key, value]) => `${key}=${text(decoded(value))}`).join('&')
  const body =
    typeof request.body === 'string' ? text(request.body.replaceAll('%40', '@').replaceAll('%3A', ':')) : request.body
  return { url: withQuery(pathWith(route, version, name), more), body, contentType }
}

/** What the sample of the operation asks. */
function sampled({ samples }: Field, request: Request): Sent {
  const route = routeOf(request)
  const { url, body } = sampleRequest(route, samples)
  if (body instanceof Blob) return { url, body: 'SAMPLE=v', contentType: 'text/plain' }
  if (body === undefined) return { url, body, contentType: undefined }
  const { sample } = request
  const said = sample === undefined || sample === 'whole' ? body : spoiled(body, sample)
  return { url, body: JSON.stringify(said), contentType: 'application/json' }
}

/** What stands for an id is written with characters that a query escapes. */
function decoded(value: string): string {
  return value.replaceAll('%40', '@').replaceAll('%3A', ':')
}

function pick(values: readonly string[] | undefined, at: number): string {
  return values?.[at % values.length] ?? 'none'
}

function namesIn(template: string, url: string): Record<string, string> {
  const pattern = template.replaceAll(/:(\w+)/g, '(?<$1>[^/?]+)')
  return new RegExp(`^${pattern}`).exec(url)?.groups ?? {}
}

function learn({ known }: Field, { text, body }: ApiResponse): void {
  const found = [...text.matchAll(/"([a-z]+)_[A-Za-z0-9]{12,}"/g)].map(([id, prefix]) => [prefix!, id.slice(1, -1)])
  const { code } = (body ?? {}) as { code?: unknown }
  if (typeof code === 'string') found.push(['code', code])
  for (const [prefix, id] of found.slice(0, 20)) {
    const before = (known.get(prefix!) ?? []).filter((one) => one !== id)
    known.set(prefix!, [id!, ...before].slice(0, 30))
  }
}

/** Some requests take away what all the others need. */
async function mend({ world, samples }: Field, operationId: string): Promise<void> {
  if (operationId === 'operatorUpdateAccount') {
    const standing = { softBlocked: false, paymentMissing: false }
    for (const id of [samples.userId, samples.teamId])
      await world.operator('PATCH', `/operator/v1/accounts/${id}`, standing)
  }
  if (!/^(deleteProject|updateProject|acceptProjectTransferRequest)$/.test(operationId)) return
  if ((await world.call.try('GET', '/v9/projects/web')).status === 404)
    await world.call('POST', '/v10/projects', { name: 'web' })
}

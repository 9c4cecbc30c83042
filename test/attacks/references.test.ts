/** What a body or a cursor names of another team is as if it were not there. docs/spec/reliability.md T36, T49, T52. */

import assert from 'node:assert/strict'
import type { TSchema } from 'typebox'
import { isList } from '../../src/platform/http/route.ts'
import { withQuery } from '../support/call.ts'
import { PUBLIC, sampleRequest, seedSamples, teamQuery } from '../support/sample-requests.ts'
import type { digest } from '../support/stores/digest.ts'
import { type Method, onBothEngines } from '../support/world.ts'
import { FULL, sayFigure } from './form.ts'
import { openTenant, type Tenant, unknownOf } from './tenants.ts'

type Reference = [method: Method, path: string, body: (named: string) => object, named: (tenant: Tenant) => string]

const project = ({ samples }: Tenant) => samples.projectId
const variable = { key: 'A', value: 'v', target: ['preview'] }
const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }

const REFERENCES: Reference[] = [
  ['POST', '/v1/projects/web/domains/www.alpha.dev/move', (projectId) => ({ projectId }), project],
  ['POST', '/v1/projects/web/domains/www.alpha.dev/move', (projectId) => ({ projectId }), ({ mark }) => `only-${mark}`],
  ['POST', '/v1/webhooks', (id) => ({ ...hook, projectIds: [id] }), project],
  ['POST', '/v1/log-drains', (id) => ({ ...drain, projectIds: [id] }), project],
  ['POST', '/v3/user/tokens', (projectId) => ({ name: 'a', projectId }), project],
  ['PATCH', '/v9/projects/web/domains/www.alpha.dev', (redirect) => ({ redirect }), ({ mark }) => `only.${mark}.dev`],
  ['POST', '/v9/projects/web/custom-environments', (from) => ({ slug: 'made', copyEnvVarsFrom: from }), environment],
  ['POST', '/v10/projects/web/env', (id) => ({ ...variable, customEnvironmentIds: [id] }), environment],
  ['DELETE', '/v1/projects/web/env', (id) => ({ ids: [id] }), ({ samples }) => samples.envId],
  [
    'POST',
    '/v2/deployments/DEPLOYMENT/aliases',
    (redirect) => ({ alias: 'www.alpha.dev', redirect }),
    ({ mark }) => `only.${mark}.dev`,
  ],
]

function environment({ byId }: Tenant): string {
  return byId.environmentSlugOrId!
}

onBothEngines('a body with an id of another team is answered like one with an unknown id', async (world) => {
  const own = await openTenant(world, 'alpha')
  const foreign = await openTenant(world, 'omega')
  const before = await foreignRows(world, foreign)
  for (const [method, path, body, named] of REFERENCES) {
    const url = path.replace('DEPLOYMENT', own.samples.deploymentId)
    const told = async (name: string) => {
      const { status, text } = await own.call.try(method, url, body(name))
      return `${status} ${text.replaceAll(name, '·').replaceAll(name.split('.').slice(-2).join('.'), '·')}`
    }
    const there = await told(named(foreign))
    assert.equal(there, await told(unknownOf(named(foreign))), `${method} ${url}`)
    if (method !== 'DELETE') assert.match(there, /^4\d\d /, `${method} ${url}`)
  }
  assert.equal(await foreignRows(world, foreign), before)
})

/** The rows of everything that names the team, or its project. */
async function foreignRows(
  { deps }: { deps: Parameters<typeof digest>[0]['deps'] },
  { teamId, samples }: Tenant,
): Promise<string> {
  const projects = await deps.db.read
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', teamId)
    .orderBy('id')
    .execute()
  const domains = await deps.db.read
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', teamId)
    .orderBy('name')
    .execute()
  const variables = await deps.db.read
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', samples.projectId)
    .execute()
  return JSON.stringify([projects, domains, variables])
}

onBothEngines('a cursor of another team, and one with a bit turned, returns nothing of theirs', async (world) => {
  const own = await openTenant(world, 'alpha')
  const foreign = await openTenant(world, 'omega')
  const lists = PUBLIC.filter(
    (route) => isList(route) && 'until' in ((route.query as TSchema & { properties?: object })?.properties ?? {}),
  )
  assert.ok(lists.length >= 10)
  let asked = 0
  for (const route of lists) {
    const at = (tenant: Tenant, query: string) =>
      withQuery(sampleRequest(route, tenant.samples, tenant.byId).url, query)
    const theirs = await foreign.call('GET', at(foreign, 'limit=1'))
    const cursor = BigInt(
      (JSON.parse(theirs.text) as { pagination?: { next?: number } }).pagination?.next ?? Date.now(),
    )
    for (let bit = 0n; bit < 53n; bit += FULL ? 1n : 7n) {
      for (const until of [cursor, cursor ^ (1n << bit)]) {
        const answer = await own.call.try('GET', at(own, `limit=100&until=${until}`))
        assert.ok(answer.status === 200 || answer.status === 400, `${route.operationId}: ${answer.text}`)
        assert.doesNotMatch(answer.text, /omega/, route.operationId)
        asked++
      }
    }
  }
  sayFigure(`cursors [${world.engine}]: ${asked} requests to ${lists.length} lists; 0 foreign rows`)
})

type Shape = { type?: string | string[]; properties?: Record<string, Shape>; items?: Shape; anyOf?: Shape[] }

/** What the answer has and the body has not, with values that no other client would write. */
function forged(reply: Shape, body: Shape): Record<string, unknown> {
  const told = reply.properties ?? {}
  const asked = body.properties ?? {}
  const beside = {
    accountId: 'forged',
    verified: true,
    transferToAccountId: 'forged',
    ownerId: 'forged',
    teamId: 'forged',
  }
  const only = Object.entries({
    ...told,
    ...Object.fromEntries(Object.keys(beside).map((name) => [name, { type: 'string' }])),
  })
  return Object.fromEntries(only.filter(([name]) => !(name in asked)).map(([name, shape]) => [name, forgedOf(shape)]))
}

function forgedOf({ type }: Shape): unknown {
  const one = Array.isArray(type) ? type[0] : type
  if (one === 'integer' || one === 'number') return 4_242_424_242_424
  if (one === 'array') return ['forged']
  if (one === 'object') return { forged: 'forged' }
  return one === 'boolean' ? true : 'forged'
}

onBothEngines('a field that only Berth sets cannot be set by a body', async (world) => {
  const samples = await seedSamples(world)
  let fields = 0
  for (const route of PUBLIC) {
    if (!route.body || route.textBody || route.method === 'DELETE') continue
    const { method, url, body } = sampleRequest(route, samples)
    const more = forged((route.reply ?? {}) as Shape, route.body as Shape)
    const answer = await world.call.try(method, withQuery(url, teamQuery(route, samples)), {
      ...more,
      ...(body as object),
    })
    assert.ok(answer.status < 500, `${route.operationId}: ${answer.text}`)
    assert.doesNotMatch(answer.text, /forged|4242424242424/, route.operationId)
    fields += Object.keys(more).length
  }
  for (const table of [
    'project',
    'project_domain',
    'account_domain',
    'env_var',
    'webhook',
    'log_drain',
    'token',
    'integration',
    'member',
  ] as const) {
    const rows = JSON.stringify(await world.deps.db.read.selectFrom(table).selectAll().execute())
    assert.doesNotMatch(rows, /forged|4242424242424/, table)
  }
  sayFigure(`forged [${world.engine}]: ${fields} fields of answers said in bodies; 0 taken`)
})

/** What a service says to its store costs as much in a store of a million projects: nothing reads a whole table that grows. docs/scaling.md. */

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { TIMERS } from '../../../src/timers.ts'
import { withQuery } from '../../support/call.ts'
import { callerOf, type Samples, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { ENGINES, openWorld, type World } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { hearStatements, SMALL, type Walk, walksOf } from './statements.ts'

const MONTHS_MS = 100 * 86_400_000

/** Of these a row is only there while something is to be done about it. */
const OPEN_ONLY = new Set([
  'audit_unlinked',
  'alias_request_open',
  'project_in_transfer',
  'delivery_waiting',
  'delivery_held',
  'delivery_held_endpoint',
  'build_leased',
  'project_crons_changed',
])
/** The test's own, from test/support/sample-requests.ts. */
const OWN = /^update "(project_domain|account_domain|delivery)" set (?!.* where (?!"(verified_at|proven_at)" is null$))/
/** What else walks, and why that is well. */
const REASONABLE = [
  // Old events and their deliveries, side by side from the oldest on: as far as the sweep comes.
  ['delivery', 'delete from "event"'],
  // The operator asks how many project keys each root key wraps: they are counted.
  ['project_key', 'count("project_key"."id")'],
  // Without statistics PostgreSQL takes a user to be in thousands of teams.
  ['account', 'from "member" inner join "account"'],
] as const
/** These read by connections of their own, as the commands `berth backup` and `berth doctor` do: the first reads all there is. */
const BY_THEMSELVES = new Set(['operatorMakeBackup', 'operatorVerifyBackup', 'operatorGetHealth'])
/** A walk in the order of an index that ends after this many rows, without a condition. */
const FIRST_ROWS = /from "(\w+)"(?: where "position" is not null)? order by "\w+"(?: desc)? limit/

for (const engine of ENGINES) {
  test(`no statement of any operation, filter or sweep walks through a table that grows [${engine}]`, async (t) => {
    const heard = hearStatements()
    const world = await openWorld(engine, { BERTH_SITES_TOKEN: SITES_TOKEN })
    try {
      await sayEverything(world).finally(heard.stop)
      const statements = new Map(
        [...heard.said].filter(([text]) => /^\s*(select|with|update|delete)\b/i.test(text) && isOurs(text)),
      )
      assert.ok(statements.size > 200, `only ${statements.size} statements were recorded`)
      assert.ok(
        [...statements.keys()].some((text) => text.startsWith('delete from "output"')),
        'no output was collected',
      )
      const walks = await walksOf(world, statements)
      const bad = [...walks].filter(([text, all]) => all.some((walk) => isTooLong(text, walk)))
      t.diagnostic(`${statements.size} statements, ${walks.size} of them walk through what is small, open or bounded`)
      assert.deepEqual(bad, [])
    } finally {
      await world.close()
    }
  })
}

function isOurs(text: string): boolean {
  return !OWN.test(text) && !/created_at \* 1024|pg_catalog|sqlite_master/.test(text)
}

function isTooLong(text: string, { table, index }: Walk): boolean {
  if (SMALL.has(table) || (index !== undefined && OPEN_ONLY.has(index))) return false
  if (REASONABLE.some(([of, what]) => of === table && text.includes(what))) return false
  return FIRST_ROWS.exec(text)?.[1] !== table
}

/** Every operation of the route table, every filter of the lists, every sweep, and the edge's reading of the hosts. */
async function sayEverything(world: World): Promise<void> {
  const samples = await seedSamples(world)
  // PostgreSQL takes no table for large while it has no page.
  const session = { hash: 'x', user_id: samples.spare.id, created_at: 1, used_at: 1, expires_at: 1 }
  const manifest = Readable.from([Buffer.from('{}')])
  const { sha256 } = await world.deps.files.put(samples.spare.id, manifest, { sha1: undefined, size: 2, max: 2 })
  await world.deps.db.write(async (tx) => {
    await tx.insertInto('session').values(session).execute()
    await tx.insertInto('half_sign_in').values({ hash: 'x', user_id: samples.spare.id, expires_at: 1 }).execute()
    const identity = { user_id: samples.spare.id, issuer: 'https://login.example.com', sub: 'x' }
    await tx
      .insertInto('identity_link')
      .values({ hash: 'x', ...identity, expires_at: 1 })
      .execute()
    await tx.insertInto('spent_challenge').values({ hash: 'x', expires_at: 1 }).execute()
    // An output that no deployment shows, which the sweep removes.
    const of = { account_id: samples.spare.id, sha256 }
    const blob = await tx
      .insertInto('blob')
      .values({ ...of, size: 1, refs: 1 })
      .returning('id')
      .executeTakeFirstOrThrow()
    const output = await tx
      .insertInto('output')
      .values({ ...of, manifest_id: blob.id })
      .returning('id')
      .executeTakeFirstOrThrow()
    await tx.insertInto('output_blob').values({ output_id: output.id, blob_id: blob.id }).execute()
  })
  await world.openEdge()
  const sites = await openInstance(world)
  for (const kind of ['files', 'outputs'])
    assert.equal((await sites.ask(`/sites/v1/${kind}/${sha256}?account=${samples.spare.id}`)).text, '{}')
  await sites.close()
  const last = (method: string) => Number(method === 'DELETE')
  for (const route of ROUTES.toSorted((one, other) => last(one.method) - last(other.method))) {
    if (BY_THEMSELVES.has(route.operationId)) continue
    const { method, url, body } = sampleRequest(route, samples)
    const answer = await callerOf(route, world).try(method, withQuery(url, teamQuery(route, samples)), body)
    assert.ok(answer.status < 500, `${route.operationId}: ${answer.text}`)
  }
  const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
  const { id: webhookId } = (await world.call('POST', '/v1/webhooks', hook)).body
  for (const url of lists(samples, webhookId)) assert.equal((await world.call('GET', url)).status, 200, url)
  for (const url of operatorsLists()) assert.equal((await world.operator('GET', url)).status, 200, url)
  const narrow = await world.token({ projectIds: [samples.projectId] })
  for (const url of ['/v9/projects', '/v5/domains', '/v6/deployments']) await narrow('GET', url)
  for (const name of Object.keys(TIMERS)) {
    const now = Date.now() + MONTHS_MS
    assert.equal((await world.operator('POST', `/operator/v1/timers/${name}/run`, { now })).status, 200, name)
  }
}

const query = (path: string, ...said: string[]) => said.map((one) => `${path}?${one}`)

function lists({ projectId }: Samples, webhookId: string): string[] {
  const placed = ['until=1', 'limit=2']
  return [
    ...query(
      '/v9/projects',
      'search=x',
      'repo=a',
      'repoId=1',
      'repoUrl=a',
      'excludeRepos=1',
      'excludeRepos=a',
      ...placed,
    ),
    ...query(
      '/v9/projects',
      'gitForkProtection=1',
      'edgeConfigId=a',
      'edgeConfigTokenId=a',
      'from=1',
      'search=x&until=1',
    ),
    ...query('/v9/projects/other/domains', 'gitBranch=a', 'production=true', 'redirect=www.example.com', ...placed),
    ...query('/v9/projects/other/domains', 'redirects=false', 'verified=true', 'since=1', 'order=ASC'),
    ...query('/v9/projects/other/env', 'decrypt=true', 'gitBranch=a', 'target=preview', ...placed),
    ...query(
      '/v6/deployments',
      `projectId=${projectId}`,
      'projectId=other',
      'app=other',
      'target=production',
      ...placed,
    ),
    ...query(
      '/v6/deployments',
      'meta-a=b',
      'sha=a',
      'projectIds=a,prj_a',
      'users=a',
      'branch=a',
      'state=READY',
      'rollbackCandidate=true',
      'since=1',
    ),
    ...query('/v4/aliases', `projectId=${projectId}`, 'projectId=other', 'domain=a.example.com', ...placed),
    ...query('/v5/domains', 'since=1', ...placed),
    ...query(`/v1/webhooks/${webhookId}/deliveries`, 'status=failed', 'status=held', 'type=project.created', ...placed),
  ]
}

function operatorsLists(): string[] {
  return [
    ...query('/operator/v1/audit', 'accountId=a', 'actorId=a', 'type=a', 'until=1', 'accountId=a&until=1'),
    ...query(
      '/operator/v1/webhook-deliveries',
      'endpointId=a',
      'status=failed',
      'status=held',
      'status=pending',
      'until=1',
    ),
    ...query('/operator/v1/webhook-deliveries', 'endpointId=a&status=failed'),
  ]
}

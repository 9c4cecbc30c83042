/** Changes of all domains or deployments of a project run in steps, between which others are served. docs/deployments.md: Targets of domains. */
import assert from 'node:assert/strict'
import type { RootOperationNode } from 'kysely'
import type { Ctx, OperatorCtx } from '../../../src/context.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import { deploymentsOnProject } from '../../../src/projects/deployments/on-project.ts'
import { domainsOnProject } from '../../../src/projects/domains/on-project.ts'
import { assignMatchingDomains, PRODUCTION_TARGET } from '../../../src/projects/serving/domain-assignment.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const MANY = 1200

/** Does work in a transaction, and returns the table of each statement of these kinds. */
async function tablesOf(
  { deps }: World,
  kinds: readonly RootOperationNode['kind'][],
  work: (db: Queries) => Promise<void>,
): Promise<string[]> {
  return deps.db.write(async (tx) => {
    const tables: string[] = []
    const noted = tx.withPlugin({
      transformQuery({ node }) {
        const { into, table, from } = node as { into?: object; table?: object; from?: object }
        if (kinds.includes(node.kind)) tables.push(/"name":"(\w+)"/.exec(JSON.stringify(into ?? table ?? from))![1]!)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await work(noted)
    return tables
  })
}

onBothEngines(
  'the domains of a take-over are assigned in steps, each of them once',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const id = await web.deploy()
    const { read } = world.deps.db
    const domain = await read.selectFrom('project_domain').selectAll().executeTakeFirstOrThrow()
    const more = Array.from({ length: MANY - 1 }, (_, at) => {
      return { ...domain, name: `n${at}.apps.example.net`, created_stamp: domain.created_stamp + 1 + at }
    })
    await addRows(world, 'project_domain', more)
    const inserted = await tablesOf(world, ['InsertQueryNode'], (db) =>
      assignMatchingDomains({ db, stamp: world.deps.clock.stamp() }, { id, project_id: web.id }, PRODUCTION_TARGET),
    )
    assert.deepEqual(inserted, ['alias', 'alias', 'alias'])
    const names = await read.selectFrom('alias').select('name').where('deployment_id', '=', id).execute()
    assert.equal(names.filter(({ name }) => name.endsWith('.apps.example.net')).length, MANY)
  },
  SETTINGS,
)

/** A project with this many deployments, domains, variables of deployments and mappings of a promote, and its row. */
async function seedLarge(world: World) {
  const web = await seedWebProject(world, ['one'])
  await web.deploy()
  const { read } = world.deps.db
  const deployment = await read.selectFrom('deployment').selectAll().executeTakeFirstOrThrow()
  const domain = await read.selectFrom('project_domain').selectAll().executeTakeFirstOrThrow()
  const many = Array.from({ length: MANY - 1 }, (_, at) => at)
  const deployments = many.map((at) => {
    const own = { id: `dpl_${at}`, url: `n${at}.host.test`, created_stamp: deployment.created_stamp + 1 + at }
    return { ...deployment, ...own, output_id: 1, env_id: at + 1 }
  })
  await addRows(world, 'deployment', deployments)
  const domains = many.map((at) => {
    const own = { name: `n${at}.apps.example.net`, created_stamp: domain.created_stamp + 1 + at }
    return { ...domain, ...own, apex_name: `n${at}.example`, proven_at: 1 }
  })
  await addRows(world, 'project_domain', domains)
  await seedHeld(world, web.id, deployment.account_id, many)
  return read.selectFrom('project').selectAll().where('id', '=', web.id).executeTakeFirstOrThrow()
}

/** One output and the variables of each deployment, and a promote with its mappings. */
async function seedHeld(world: World, project_id: string, account_id: string, many: readonly number[]) {
  const output = { id: 1, account_id, sha256: 'a'.repeat(64), manifest_id: 1, refs: MANY, crons_json: null }
  await addRows(world, 'output', [output])
  const env = { account_id, project_id, variables_json: '[]', sealed_env: null, hides_system: 0, bytes: 4096, refs: 1 }
  await addRows(
    world,
    'frozen_env',
    many.map((at) => ({ ...env, id: at + 1, content: `dpl_${at}` })),
  )
  await addRows(world, 'file_usage', [{ account_id, bytes: many.length * 4096 }])
  const request = { id: 'request', project_id, type: 'promote', from_deployment_id: null } as const
  const stamps = { requested_stamp: 1, advanced_stamp: 1, finished_at: 1 }
  await addRows(world, 'alias_request', [{ ...request, ...stamps, to_deployment_id: 'dpl_0', status: 'succeeded' }])
  await addRows(
    world,
    'alias_mapping',
    many.map((place) => ({ request_id: 'request', place, name: `n${place}.apps.example.net`, status: 'completed' })),
  )
}

const countOf = (tables: readonly string[], table: string) => tables.filter((one) => one === table).length

onBothEngines(
  'the deployments of a transfer move in steps, each of them once',
  async (world) => {
    const project = await seedLarge(world)
    const taker = await world.user('taker')
    const to = { id: taker.id, kind: 'user' } as const
    const stamp = world.deps.clock.stamp()
    const updated = await tablesOf(world, ['UpdateQueryNode'], async (db) => {
      const ctx = { db, deps: world.deps, now: world.deps.clock.now(), stamp } as OperatorCtx
      for (const { move } of [deploymentsOnProject, domainsOnProject]) await move!(ctx, project, to)
    })
    assert.deepEqual([countOf(updated, 'deployment'), countOf(updated, 'project_domain')], [3, 3])
    for (const table of ['deployment', 'project_domain', 'alias'] as const) {
      const rows = await world.deps.db.read.selectFrom(table).select('account_id').execute()
      assert.deepEqual([...new Set(rows.map((row) => row.account_id))], [taker.id], table)
    }
  },
  SETTINGS,
)

onBothEngines(
  'what a project has is removed in steps',
  async (world) => {
    const project = await seedLarge(world)
    const { read } = world.deps.db
    const changed = await tablesOf(world, ['DeleteQueryNode', 'InsertQueryNode', 'UpdateQueryNode'], async (db) => {
      const ctx = { db, deps: world.deps, now: world.deps.clock.now(), stamp: world.deps.clock.stamp() } as Ctx
      const about = { projectId: project.id }
      for (const { remove } of [deploymentsOnProject, domainsOnProject]) await remove!(ctx, project, about)
    })
    for (const table of ['deployment', 'project_domain', 'alias_mapping', 'output'])
      assert.equal(countOf(changed, table), 3, table)
    for (const table of ['released_proof', 'frozen_env']) assert.ok(countOf(changed, table) >= 12, table)
    assert.equal(countOf(changed, 'file_usage'), 6)
    const tables = [
      'deployment',
      'project_domain',
      'alias',
      'deployment_meta',
      'alias_request',
      'alias_mapping',
    ] as const
    for (const table of [...tables, 'frozen_env', 'file_usage'] as const)
      assert.deepEqual(await read.selectFrom(table).selectAll().execute(), [], table)
    // One of the deployments that hold it is of no project.
    assert.equal((await read.selectFrom('output').select('refs').executeTakeFirstOrThrow()).refs, 1)
    const proofs = await read.selectFrom('released_proof').select('apex_name').execute()
    assert.equal(new Set(proofs.map((row) => row.apex_name)).size, MANY - 1)
  },
  SETTINGS,
)

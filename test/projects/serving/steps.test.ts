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

/** Does work in a transaction, and returns the table of each statement of this kind. */
async function tablesOf(
  { deps }: World,
  kind: RootOperationNode['kind'],
  work: (db: Queries) => Promise<void>,
): Promise<string[]> {
  return deps.db.write(async (tx) => {
    const tables: string[] = []
    const noted = tx.withPlugin({
      transformQuery({ node }) {
        const { into, table, from } = node as { into?: object; table?: object; from?: object }
        if (node.kind === kind) tables.push(/"name":"(\w+)"/.exec(JSON.stringify(into ?? table ?? from))![1]!)
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
    const inserted = await tablesOf(world, 'InsertQueryNode', (db) =>
      assignMatchingDomains({ db, stamp: world.deps.clock.stamp() }, { id, project_id: web.id }, PRODUCTION_TARGET),
    )
    assert.deepEqual(inserted, ['alias', 'alias', 'alias'])
    const names = await read.selectFrom('alias').select('name').where('deployment_id', '=', id).execute()
    assert.equal(names.filter(({ name }) => name.endsWith('.apps.example.net')).length, MANY)
  },
  SETTINGS,
)

/** A project with this many deployments and domains, and its row. */
async function seedLarge(world: World) {
  const web = await seedWebProject(world, ['one'])
  await web.deploy()
  const { read } = world.deps.db
  const deployment = await read.selectFrom('deployment').selectAll().executeTakeFirstOrThrow()
  const domain = await read.selectFrom('project_domain').selectAll().executeTakeFirstOrThrow()
  const many = Array.from({ length: MANY - 1 }, (_, at) => at)
  const deployments = many.map((at) => {
    return { ...deployment, id: `dpl_${at}`, url: `n${at}.host.test`, created_stamp: deployment.created_stamp + 1 + at }
  })
  await addRows(world, 'deployment', deployments)
  const domains = many.map((at) => {
    return { ...domain, name: `n${at}.apps.example.net`, created_stamp: domain.created_stamp + 1 + at }
  })
  await addRows(world, 'project_domain', domains)
  return read.selectFrom('project').selectAll().where('id', '=', web.id).executeTakeFirstOrThrow()
}

const countOf = (tables: readonly string[], table: string) => tables.filter((one) => one === table).length

onBothEngines(
  'the deployments of a transfer move in steps, each of them once',
  async (world) => {
    const project = await seedLarge(world)
    const taker = await world.user('taker')
    const to = { id: taker.id, kind: 'user' } as const
    const stamp = world.deps.clock.stamp()
    const updated = await tablesOf(world, 'UpdateQueryNode', async (db) => {
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
    const deleted = await tablesOf(world, 'DeleteQueryNode', async (db) => {
      const ctx = { db, deps: world.deps, now: world.deps.clock.now(), stamp: world.deps.clock.stamp() } as Ctx
      const about = { projectId: project.id }
      for (const { remove } of [deploymentsOnProject, domainsOnProject]) await remove!(ctx, project, about)
    })
    assert.deepEqual([countOf(deleted, 'deployment'), countOf(deleted, 'project_domain')], [3, 3])
    for (const table of ['deployment', 'project_domain', 'alias', 'deployment_meta'] as const)
      assert.deepEqual(await world.deps.db.read.selectFrom(table).selectAll().execute(), [], table)
  },
  SETTINGS,
)

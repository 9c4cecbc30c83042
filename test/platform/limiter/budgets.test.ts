/** Budgets: each table has one or a reason, and each budget is driven to its end. docs/limits.md: Budgets. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BOUNDS } from '../../../src/bounds.ts'
import { BUDGETS, type BudgetName } from '../../../src/budgets.ts'
import { LIMITS } from '../../../src/limits.ts'
import { tablesOf } from '../../../src/platform/db/tables.ts'
import { seedProject } from '../../support/projects.ts'
import { root } from '../../support/root.ts'
import { addRows } from '../../support/states.ts'
import { type Call, ENGINES, type Engine, onBothEngines, openWorld, type World } from '../../support/world.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

const MOST = 3
const page = readFileSync(join(root, 'docs', 'limits.md'), 'utf8')

onBothEngines('each table of a store has a budget, a limit by time, or a reason to need none', async ({ deps }) => {
  const tables = [...(await tablesOf(deps.db.read)).keys()].filter((name) => !name.startsWith('kysely_'))
  assert.deepEqual(Object.keys(BOUNDS).toSorted(), tables.toSorted())
  for (const [table, bound] of Object.entries(BOUNDS)) {
    if ('reason' in bound) assert.ok(bound.reason.length > 10, table)
    else if ('limits' in bound)
      assert.ok(bound.limits.every((name) => name in LIMITS) && bound.limits.length > 0, table)
    else assert.ok(bound.budgets.every((name) => name in BUDGETS) && bound.budgets.length > 0, table)
  }
})

test('docs/limits.md lists each budget with its figure, and each table with what bounds it', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  for (const [name, { max }] of Object.entries(BUDGETS))
    assert.ok(
      rows.some((row) => row.startsWith(`| \`${name}\` `) && row.includes(` ${max.toLocaleString('en')} `)),
      `${name}: ${max.toLocaleString('en')}`,
    )
  for (const [table, bound] of Object.entries(BOUNDS)) {
    const row = rows.find((row) => row.startsWith(`| \`${table}\` `)) ?? ''
    const said = 'reason' in bound ? [bound.reason] : 'limits' in bound ? bound.limits : bound.budgets
    for (const words of said) assert.ok(row.includes(words), `${table}: ${words}`)
  }
})

// biome-ignore lint/suspicious/noExplicitAny: the answer of any of the routes that make something
type Made = { status: number; text: string; body: any }

/** How rows of a budget are made and removed. `there`: how many there are before. `other`: makes one of another account. */
type Filling = {
  there: number
  add: (n: number) => Promise<Made>
  remove: (made: Made) => Promise<Made>
  other: () => Promise<Made>
}

const FILLINGS: Record<BudgetName, (world: World) => Promise<Filling>> = {
  projects: async ({ call, user }) => ({
    there: 0,
    add: (n) => call.try('POST', '/v10/projects', { name: `p${n}` }),
    remove: (made) => call.try('DELETE', `/v9/projects/${made.body.id}`),
    other: async () => (await user('other')).call.try('POST', '/v10/projects', { name: 'p' }),
  }),
  async domains(world) {
    await seedProject(world, 'web')
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    const path = '/v10/projects/web/domains'
    return {
      there: 0,
      add: (n) => world.call.try('POST', path, { name: `d${n}.example.com` }),
      remove: (made) => world.call.try('DELETE', `/v9/projects/web/domains/${made.body.name}`),
      other: () => other.call.try('POST', path, { name: 'other.example.org' }),
    }
  },
  'account-domains': async ({ call, user }) => ({
    there: 0,
    add: (n) => call.try('POST', '/v7/domains', { name: `example${n}.com`, method: 'add' }),
    remove: (made) => call.try('DELETE', `/v6/domains/${made.body.domain.name}`),
    other: async () => (await user('other')).call.try('POST', '/v7/domains', { name: 'example.org', method: 'add' }),
  }),
  async deployments(world) {
    const id = await seedProject(world, 'web')
    const other = await world.user('other')
    const { body } = await other.call('POST', '/v10/projects', { name: 'web' })
    const register = (projectId: string, url: string) =>
      world.operator.try('POST', `/operator/v1/projects/${projectId}/deployments`, { url, readyState: 'BUILDING' })
    return {
      there: 0,
      add: (n) => register(id, `d${n}.apps.example.net`),
      remove: (made) => world.call.try('DELETE', `/v13/deployments/${made.body.id}`),
      other: () => register(body.id, 'other.apps.example.net'),
    }
  },
  async integrations(world) {
    const other = await world.user('other')
    const team = (await other.call('POST', '/v1/teams', { slug: 'others' })).body.id
    const register = (call: Call, teamId: string | undefined, slug: string) =>
      call.try('POST', `/v1/integrations/apps?teamId=${teamId}`, {
        slug,
        name: 'Helper',
        redirectUrl: 'https://app.example.com/callback',
        scopes: ['read:project'],
      })
    const { teamId } = world.credentials
    return {
      there: 0,
      add: (n) => register(world.call, teamId, `app-${n}`),
      remove: (made) => world.call.try('DELETE', `/v1/integrations/apps/${made.body.id}?teamId=${teamId}`),
      other: () => register(other.call, team, 'app-of-others'),
    }
  },
  async installations(world) {
    const { userId, teamId } = world.credentials
    const other = await world.user('other')
    const apps: string[] = []
    for (let n = 0; n < 10; n++) apps.push((await seedIntegration(world, { slug: `app-${n}` })).id)
    const install = (id: string, body: object) =>
      world.operator.try('POST', `/operator/v1/integrations/${id}/installations`, { projects: 'all', ...body })
    return {
      there: 0,
      add: (n) => install(apps[n]!, { userId, teamId }),
      remove: (made) =>
        world.call.try('DELETE', `/v1/integrations/configuration/${made.body.configurationId}?teamId=${teamId}`),
      other: () => install(apps[0]!, { userId: other.id }),
    }
  },
  // The token of the world is one.
  tokens: async ({ call, user }) => ({
    there: 1,
    add: (n) => call.try('POST', '/v3/user/tokens', { name: `t${n}` }),
    remove: (made) => call.try('DELETE', `/v3/user/tokens/${made.body.token.id}`),
    other: async () => (await user('other')).call.try('POST', '/v3/user/tokens', { name: 't' }),
  }),
  async teams(world) {
    const owner = await world.user('owner')
    return {
      there: 0,
      add: (n) => owner.call.try('POST', '/v1/teams', { slug: `team-${n}` }),
      remove: (made) => world.operator.try('DELETE', `/operator/v1/teams/${made.body.id}`),
      other: async () => (await world.user('other')).call.try('POST', '/v1/teams', { slug: 'others' }),
    }
  },
  async members(world) {
    const owner = await world.user('owner')
    const team = (await owner.call('POST', '/v1/teams', { slug: 'full' })).body.id
    const people = await Promise.all(Array.from({ length: 10 }, (_, n) => world.user(`m${n}`)))
    const join = async (call: Call, teamId: string, n: number) => {
      const path = `/v1/teams/${teamId}/members` as const
      const invited = await call('POST', path, { uid: people[n]!.id, role: 'MEMBER' })
      const inviteCode = invited.body.inviteUrl?.split('/').at(-1)
      const joined = await people[n]!.call.try('POST', `${path}/teams/join`, { inviteCode })
      return { ...joined, body: { ...joined.body, uid: people[n]!.id } }
    }
    return {
      there: 1,
      add: (n) => join(owner.call, team, n),
      remove: (made) => owner.call.try('DELETE', `/v1/teams/${team}/members/${made.body.uid}`),
      other: () => join(world.call, world.credentials.teamId, 0),
    }
  },
  async invitations(world) {
    const { teamId } = world.credentials
    const owner = await world.user('owner')
    const team = (await owner.call('POST', '/v1/teams', { slug: 'others' })).body.id
    const invite = (call: Call, id: string | undefined, email: string) =>
      call.try('POST', `/v1/teams/${id}/members`, { email, role: 'MEMBER' })
    return {
      there: 0,
      add: (n) => invite(world.call, teamId, `i${n}@example.com`),
      remove: (made) => world.call.try('DELETE', `/v1/teams/${teamId}/members/${made.body.uid}`),
      other: () => invite(owner.call, team, 'i@example.com'),
    }
  },
}

async function openFull(t: TestContext, engine: Engine, name: BudgetName): Promise<World> {
  const settings = { BERTH_BUDGETS: JSON.stringify({ [name]: MOST }), BERTH_DOMAIN_PROOF: 'contested' }
  const world = await openWorld(engine, settings)
  t.after(() => world.close())
  return world
}

const isMade = ({ status }: Made) => status >= 200 && status < 300

for (const engine of ENGINES)
  for (const [name, fill] of Object.entries(FILLINGS) as [BudgetName, (typeof FILLINGS)[BudgetName]][])
    test(`the end of the budget ${name}: a refusal that says what to remove, for this account alone [${engine}]`, async (t) => {
      const world = await openFull(t, engine, name)
      const { there, add, remove, other } = await fill(world)
      const made: Made[] = []
      for (let n = there; n < MOST - 1; n++) made.push(await add(n))
      assert.ok(made.every(isMade), made.map(({ text }) => text).join())

      // One is left, and five race for it.
      const raced = await Promise.all([4, 5, 6, 7, 8].map(add))
      const [won, lost] = [raced.filter(isMade), raced.filter((answer) => !isMade(answer))]
      assert.equal(won.length, 1, raced.map(({ text }) => text).join('\n'))
      const { refusal, what, remedy } = BUDGETS[name]
      for (const { status, body } of lost) {
        assert.equal(status, 409)
        assert.equal(body.error.code, refusal === 'budget_used_up' ? refusal : 'conflict')
        assert.match(body.error.message, new RegExp(`has ${MOST} ${what}, the maximum\\. ${remedy}`))
      }
      assert.ok(isMade(await other()), 'another account does not feel it')
      const removed = await remove(won[0]!)
      assert.ok(isMade(removed), removed.text)
      const again = await add(9)
      assert.ok(isMade(again), again.text)
      assert.equal((await add(3)).status, 409)
    })

onBothEngines('a budget is counted again where rows came and went, far from its end and near to it', async (world) => {
  world.deps.config.budgets = { projects: 40 }
  const make = (n: number) => world.call.try('POST', '/v10/projects', { name: `p${n}` })
  const all = await Promise.all(Array.from({ length: 60 }, (_, n) => make(n)))
  assert.equal(all.filter(isMade).length, 40)
  for (const { body } of all.filter(isMade).slice(0, 5))
    assert.equal((await world.call('DELETE', `/v9/projects/${body.id}`)).status, 204)
  const more = await Promise.all(Array.from({ length: 10 }, (_, n) => make(100 + n)))
  assert.equal(more.filter(isMade).length, 5)
})

onBothEngines('a large budget is held to the last row, also when many race near its end', async (world) => {
  const most = 1500
  world.deps.config.budgets = { projects: most }
  const first = await seedProject(world, 'first')
  const template = await world.deps.db.read
    .selectFrom('project')
    .selectAll()
    .where('id', '=', first)
    .executeTakeFirstOrThrow()
  const seeded = Array.from({ length: most - 11 }, (_, n) => ({
    ...template,
    id: `prj_${n}`,
    name: `seeded-${n}`,
    updated_stamp: template.updated_stamp - 1 - n,
  }))
  await addRows(world, 'project', seeded)
  // Longer than the room is remembered that was there before they were put in behind the back of the service.
  const now = performance.now.bind(performance)
  performance.now = () => now() + 60_000
  try {
    const raced = await Promise.all(
      Array.from({ length: 30 }, (_, n) => world.call.try('POST', '/v10/projects', { name: `p${n}` })),
    )
    assert.equal(raced.filter(isMade).length, 10)
  } finally {
    performance.now = now
  }
})

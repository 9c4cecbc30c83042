/** One account with very much in it searches without a pause: what a search takes, that it says what it left out, and what another account feels. docs/console.md: Search. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST_STAMP, projectName, seedStore, tokenOf } from '../../scripts/bench/seed.ts'
import { addRows } from '../support/states.ts'
import { enginesOfNext } from '../support/stores/engines.ts'
import { openWorld, type World } from '../support/world.ts'
import { sayFigure } from './form.ts'

const PROJECTS = 41_000
/** The projects that changed last have so many variables each: more than one search looks at, in more projects than it looks into. */
const [RECENT, VARIABLES_EACH] = [1100, 24]
const SEARCHES = 40
/** On a machine that others use: what is measured is measured again, and the bound stays. */
const ATTEMPTS = 4
const MAX_P99_MS = 100

for (const engine of enginesOfNext()) {
  test(`an account of 41,000 projects and as many domains that searches all the time makes no other wait [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const { teamId, token } = world.credentials
    const large = { accountId: teamId, projects: PROJECTS }
    await seedStore(world.deps.db, { accounts: 1, projectsEach: 20, variables: 0, hosts: true, large })
    await addVariables(world)
    const search = (q: string) => ask(world, token, `/v1/search?teamId=${teamId}&q=${q}`)

    const last = (await search(projectName(PROJECTS - 1))).results
    assert.deepEqual(
      last.map(({ kind, name }) => `${kind} ${name}`),
      [
        `project ${projectName(PROJECTS - 1)}`,
        `deployment ${projectName(PROJECTS - 1)}.apps.example.net`,
        `domain ${projectName(PROJECTS - 1)}.example.com`,
      ],
      'a name that stands behind all others is found',
    )
    const everything = await search('e')
    assert.deepEqual(everything.more, ['project', 'deployment', 'domain', 'variable'])
    const nothing = await search('nowhere')
    assert.deepEqual(
      [nothing.results, nothing.partial],
      [[], ['deployment', 'variable']],
      'what was not searched is listed',
    )

    let p99 = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < ATTEMPTS && p99 >= MAX_P99_MS; attempt++) p99 = await beside(world, search)
    assert.ok(p99 < MAX_P99_MS, `${p99} ms`)
  })
}

async function addVariables(world: World): Promise<void> {
  const recent = await world.deps.db.read
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', world.credentials.teamId)
    .orderBy('updated_stamp', 'desc')
    .limit(RECENT)
    .execute()
  const numbers = Array.from({ length: VARIABLES_EACH }, (_, n) => n)
  const rows = recent.flatMap(({ id }) =>
    numbers.map((n) => ({
      project_id: id,
      id: `env_${id}${n}`,
      key: `VARIABLE_${n}`,
      type: 'encrypted' as const,
      targets: 'production',
      git_branch: '',
      sealed_value: 'x'.repeat(100),
      value_version: 1,
      value_bytes: 40,
      version: 1,
      created_stamp: FIRST_STAMP + n,
      updated_at: 1,
    })),
  )
  await addRows(world, 'env_var', rows)
  const usage = { target: 'production', variables: VARIABLES_EACH, bytes: 40 * VARIABLES_EACH }
  await addRows(
    world,
    'env_usage',
    recent.map(({ id }) => ({ project_id: id, ...usage })),
  )
}

type Answer = { results: { kind: string; name: string }[]; more: string[]; partial: string[] }

async function ask({ app }: World, token: string, url: string): Promise<Answer> {
  const answer = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
  assert.equal(answer.statusCode, 200, answer.payload)
  return JSON.parse(answer.payload)
}

/** The p99 of another account's requests while the searches that find nothing follow each other, four at a time. */
async function beside(world: World, search: (q: string) => Promise<Answer>): Promise<number> {
  const [took, searched]: [number[], number[]] = [[], []]
  let left = SEARCHES
  const searchOn = async () => {
    while (left-- > 0) searched.push(await timed(() => search('nowhere')))
  }
  const searching = Promise.all(Array.from({ length: 4 }, searchOn))
  const other = async () => {
    while (left > 0) {
      took.push(await timed(() => ask(world, tokenOf(0), '/v9/projects?limit=1')))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await Promise.all([searching, other()])
  const p99 = at(took, 0.99)
  sayFigure(
    `search, ${world.engine}: p50 ${at(searched, 0.5).toFixed(1)} ms of ${SEARCHES} searches that find nothing, four at a time; another account p50 ${at(took, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${took.length} requests)`,
  )
  return p99
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function at(all: readonly number[], part: number): number {
  return all.toSorted((one, other) => one - other)[Math.min(all.length - 1, Math.floor(all.length * part))]!
}

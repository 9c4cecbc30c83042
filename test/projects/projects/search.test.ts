/** A search reads a bounded number of rows at a time, however many an account has and whatever it finds. docs/scaling.md: How a search works. */
import assert from 'node:assert/strict'
import { FIRST_STAMP, projectName, seedStore } from '../../../scripts/bench/seed.ts'
import { setSettingsBefore } from '../../support/states.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PROJECTS = 12_000
/** Of them, the oldest have settings as heavy as they may be. */
const HEAVY = 1500

/** Processor time of the longest iteration of the event loop while some work runs, in ms. */
async function longestIteration(work: () => Promise<unknown>): Promise<number> {
  let [longest, running] = [0, true]
  const cpu = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let since = cpu()
  const look = () => {
    const now = cpu()
    longest = Math.max(longest, now - since)
    since = now
    if (running) setImmediate(look)
  }
  setImmediate(look)
  await work()
  running = false
  await new Promise((resolve) => setImmediate(resolve))
  return longest
}

async function namesOf(world: World, query: string): Promise<string[]> {
  // Nothing is answered from what was asked before.
  world.deps.db.refreshSnapshot()
  const answer = await world.call('GET', `/v9/projects?${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.projects.map(({ name }: { name: string }) => name)
}

/** The names that a list should have: those of the newest projects for which `fits` is true. */
function expected(count: number, fits: (n: number) => boolean, from = PROJECTS - 1): string[] {
  const names: string[] = []
  for (let n = from; n >= 0 && names.length < count; n--) if (fits(n)) names.push(projectName(n))
  return names
}

onBothEngines(
  'of 12,000 projects a search and a filter read some at a time and find the newest, wherever they lie (a bound on time)',
  async (world) => {
    const { userId: accountId } = world.credentials
    await seedStore(world.deps.db, {
      accounts: 0,
      projectsEach: 0,
      variables: 0,
      hosts: false,
      large: { accountId, projects: PROJECTS },
    })
    const addresses = Array(1000).fill({ value: '192.0.2.1', note: 'x'.repeat(20) })
    const trustedIps = { deploymentType: 'all', protectionMode: 'additional', addresses }
    await setSettingsBefore(world, FIRST_STAMP + HEAVY, { trustedIps })
    const has = (text: string) => (n: number) => projectName(n).includes(text)
    const cases: [query: string, names: string[]][] = [
      ['limit=20&search=project-000', expected(20, has('project-000'))],
      ['limit=2&search=project-00000', expected(2, has('project-00000'))],
      ['limit=2&search=project-0000', expected(2, has('project-0000'))],
      ['limit=20&search=00011345', [projectName(11_345)]],
      ['limit=20&search=nowhere', []],
      ['limit=20&search=7&gitForkProtection=0', []],
      ['limit=20&gitForkProtection=0', []],
      ['limit=5&excludeRepos=1', expected(5, () => true)],
      ['limit=3&search=project-00000&excludeRepos=1', expected(3, has('project-00000'))],
      ['limit=5&edgeConfigId=ecfg_none', []],
    ]
    for (const [query, names] of cases) {
      assert.deepEqual(await namesOf(world, query), names, query)
      const longest = Math.min(
        await longestIteration(() => namesOf(world, query)),
        await longestIteration(() => namesOf(world, query)),
      )
      // Each statement looks at some thousand names or some hundred rows: at most 5 ms. All that match at once were 62.
      assertWithin(longest, 20)
    }
  },
)

onBothEngines('the pages of a search have every match exactly once, to the end', async (world) => {
  const { userId: accountId } = world.credentials
  await seedStore(world.deps.db, {
    accounts: 0,
    projectsEach: 0,
    variables: 0,
    hosts: false,
    large: { accountId, projects: 12_000 },
  })
  const found: string[] = []
  for (let until: number | null | undefined; until !== null; ) {
    const path = `/v9/projects?search=23&limit=100${until === undefined ? '' : `&until=${until}`}` as const
    const { body } = await world.call('GET', path)
    found.push(...body.projects.map(({ name }: { name: string }) => name))
    assert.ok(body.projects.length === 100 || body.pagination.next === null)
    until = body.pagination.next
  }
  assert.deepEqual(
    found,
    expected(12_000, (n) => projectName(n).includes('23'), 11_999),
  )
  // From the middle: only what is newer.
  const { body: page } = await world.call('GET', `/v9/projects?search=${projectName(6000)}`)
  const since = page.projects[0].updatedAt
  assert.deepEqual(await namesOf(world, `search=${projectName(6000)}&from=${since + 1000}`), [])
})

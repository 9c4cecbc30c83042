/** What an account of 41,000 projects pays for a page and a search, compared with one of 20. docs/scaling.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedStore, tokenOf } from '../../scripts/bench/seed.ts'
import { enginesOfNext } from '../support/stores/engines.ts'
import { openWorld, type World } from '../support/world.ts'

const PROJECTS = 41_000
const MAX_RATIO = 2
const MAX_SEARCH_MS = 20
const ROUNDS = 15
/** On a machine that others use: what is measured is measured again, and the bound stays. */
const ATTEMPTS = 6

for (const engine of enginesOfNext()) {
  test(`41,000 projects cost no more to look through than they may [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    const large = { accountId: world.credentials.teamId, projects: PROJECTS }
    await seedStore(world.deps.db, { accounts: 1, projectsEach: 20, variables: 0, hosts: false, large })
    const ofLarge = (query: string) =>
      timed(world, world.credentials.token, `teamId=${world.credentials.teamId}&${query}`)
    const ofSmall = (query: string) => timed(world, tokenOf(0), query)

    await t.test('a page of 20 costs at most twice what it costs an account that has 20', async (t) => {
      await untilWithin(t, MAX_RATIO, async () => {
        const [large, small]: [number[], number[]] = [[], []]
        for (let round = 0; round < ROUNDS; round++) {
          // Who goes first changes, so that whatever else the machine does meets both.
          const turns = [
            async () => large.push(await ofLarge('limit=20')),
            async () => small.push(await ofSmall('limit=20')),
          ]
          for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn()
        }
        return median(large) / median(small)
      })
    })

    for (const [what, search] of [
      ['everything', 'seeded'],
      ['one letter', 'e'],
      ['some', '012'],
      ['one', 'PROJECT-00040777'],
      ['nothing', 'nowhere'],
    ]) {
      await t.test(`a search that finds ${what} takes at most 20 ms`, async (t) => {
        await untilWithin(t, MAX_SEARCH_MS, async () => {
          const took: number[] = []
          for (let round = 0; round < ROUNDS; round++) took.push(await ofLarge(`search=${search}`))
          return median(took)
        })
      })
    }
  })
}

/** Milliseconds of a list that is not answered from what was asked before. */
async function timed({ app, deps }: World, token: string, query: string): Promise<number> {
  const url = `/v9/projects?${query}`
  deps.db.refreshSnapshot()
  const before = performance.now()
  const answer = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
  const took = performance.now() - before
  assert.equal(answer.statusCode, 200, answer.payload)
  return took
}

async function untilWithin(
  t: { diagnostic(said: string): void },
  most: number,
  measure: () => Promise<number>,
): Promise<void> {
  const seen: number[] = []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    seen.push(await measure())
    if (seen.at(-1)! <= most) break
  }
  t.diagnostic(seen.map((one) => one.toFixed(2)).join(', '))
  assert.ok(Math.min(...seen) <= most, `${seen.map((one) => one.toFixed(2)).join(', ')}: at most ${most}`)
}

function median(all: number[]): number {
  return all.toSorted((one, other) => one - other)[all.length >> 1]!
}

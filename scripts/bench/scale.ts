/** `npm run bench -- --scale`: what requests cost as the store grows. The same requests go in turns to stores of several sizes. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { openPostgres } from '../../src/platform/db/postgres/open.ts'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { memoryOf, stopServer } from './children.ts'
import { startService } from './measure.ts'
import { spread } from './rounds.ts'
import { ASKED, openAsker, type Served } from './scale-asked.ts'
import { FIRST_STAMP, seedStore, type Wanted } from './seed.ts'

const PROJECTS_EACH = 50
const VARIABLES = 10
const LARGE = 41_000
const ROUNDS = 7
const REQUESTS = 60

export type ScaleOptions = {
  folder: string
  env: NodeJS.ProcessEnv
  /** Projects of each store; the first is what the others are compared with. */
  rows: number[]
  /** A new, empty PostgreSQL database for each store; undefined: the embedded store. */
  newDatabase: (() => Promise<string>) | undefined
  say: (line: string) => void
}

export type ScaleResult = {
  stores: (Omit<Served, 'target'> & { memory: number | undefined })[]
  /** Of each kind of request: the median milliseconds by store, and how many times the first store's that is, round by round. */
  costs: { title: string; ms: number[]; ratios: number[] }[]
}

/** Seeds a store of each size, and one in which one account has 41,000 projects, serves them all and asks them in turns. */
export async function measureScale(options: ScaleOptions): Promise<ScaleResult> {
  const served: Served[] = []
  for (const projects of options.rows) served.push(await openStore(options, projects, 0))
  served.push(await openStore(options, options.rows[0]!, LARGE))
  const askers = await Promise.all(served.map(openAsker))
  const costs: ScaleResult['costs'] = []
  for (const { title, name } of ASKED) {
    options.say(title)
    const took: number[][] = served.map(() => [])
    for (const asker of askers) for (let warm = 0; warm < REQUESTS / 4; warm++) await asker[name]()
    for (let round = 0; round < ROUNDS; round++) {
      const inRound: number[][] = served.map(() => [])
      // Request by request in turns: a neighbor's noise falls on all stores.
      for (let request = 0; request < REQUESTS; request++) {
        for (let turn = 0; turn < askers.length; turn++) {
          const at = (turn + request) % askers.length
          inRound[at]!.push(await askers[at]![name]())
        }
      }
      for (const [at, all] of inRound.entries()) took[at]!.push(spread(all).median)
    }
    const ratios = took.map((rounds) => spread(rounds.map((ms, round) => ms / took[0]![round]!)).median)
    costs.push({ title, ms: took.map((rounds) => spread(rounds).median), ratios })
  }
  const stores = served.map(({ target, ...rest }) => ({ ...rest, memory: memoryOf(target)?.now }))
  for (const { target } of served) await stopServer(target)
  return { stores, costs }
}

async function openStore(options: ScaleOptions, projects: number, large: number): Promise<Served> {
  const { folder, newDatabase, say } = options
  const title = large > 0 ? `${large} in one account` : String(projects)
  const data = join(folder, `store-${projects}-${large}`)
  mkdirSync(data, { recursive: true })
  const env = {
    ...options.env,
    BERTH_DATA: data,
    // The sweeps of one database would compete with the requests to another.
    BERTH_TIMERS: 'off',
    BERTH_RATE_LIMITS: 'off',
    ...(newDatabase && { DATABASE_URL: await newDatabase() }),
  }
  const first = await startService('bin/berth.mjs', env)
  const { teamId } = first.credentials
  await stopServer(first)
  const accounts = Math.ceil(projects / PROJECTS_EACH)
  const wanted: Wanted = { accounts, projectsEach: PROJECTS_EACH, variables: VARIABLES, hosts: true }
  if (large > 0) wanted.large = { accountId: teamId, projects: large }
  const before = performance.now()
  const megabytes = await seed(env, wanted, (line) => say(`${title}: ${line}`))
  const seconds = (performance.now() - before) / 1000
  const started = performance.now()
  const target = await startService('bin/berth.mjs', env)
  return {
    title,
    target,
    accounts,
    projects: accounts * PROJECTS_EACH + large,
    middle: FIRST_STAMP + (accounts * PROJECTS_EACH + large) / 2,
    large: large > 0 ? { teamId } : undefined,
    seconds,
    megabytes,
    startMs: performance.now() - started,
  }
}

/** Gives how large the store is then, in 10^6 bytes. */
async function seed(env: NodeJS.ProcessEnv, wanted: Wanted, say: (line: string) => void): Promise<number> {
  const fail = (error: unknown) => {
    throw error
  }
  const db =
    env.DATABASE_URL === undefined
      ? await openSqlite({ file: join(env.BERTH_DATA!, 'berth.db'), onDiskError: fail })
      : await openPostgres(env.DATABASE_URL, fail)
  await seedStore(db, wanted, say)
  const size =
    db.engine === 'sqlite'
      ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count, pragma_page_size`
      : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
  const { rows } = await size.execute(db.read)
  await db.close()
  return rows[0]!.bytes / 1e6
}

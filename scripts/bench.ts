/**
 * `npm run bench`: how fast the service is, compared with a bare `node:http` server that sends the same bytes, in one run on
 * one machine. What each figure means: docs/bench.md. A missed goal is reported, and is not a failure.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CASES, type Engine } from './bench/cases.ts'
import { measureCheck } from './bench/check.ts'
import { killAll, memoryOf, startServer, stopServer } from './bench/children.ts'
import { measureInstances } from './bench/instances.ts'
import { openLoader } from './bench/load.ts'
import { type Bench, measureDurable } from './bench/measure.ts'
import { checkOut, type Earlier, startPeer } from './bench/others.ts'
import { startPostgres } from './bench/postgres.ts'
import { judge, type Results, show } from './bench/report.ts'
import { newNames } from './bench/rounds.ts'
import { measureScale } from './bench/scale.ts'
import { showInstances, showScale } from './bench/scale-report.ts'
import { measureFunctions } from './bench/sites/functions.ts'
import { showFunctions, showSites } from './bench/sites/report.ts'
import { measureSites } from './bench/sites/sites.ts'
import { measureSoak, showSoak } from './bench/soak.ts'
import { measureStart } from './bench/start.ts'
import { fillPeer, openCrowd, openThousand } from './bench/stores.ts'
import { measureCase, type Work } from './bench/work.ts'

const TMPFS = 0x01021994
const NAMES = [...CASES.map(({ name }) => name), 'durable', 'check', 'start']
const ENGINES: readonly Engine[] = ['sqlite', 'postgres']
const USAGE = `npm run bench -- [--only ${NAMES.join('|')}] [--engine sqlite|postgres] [--seconds N]
    [--peer] [--before COMMIT] [--json]
  Both engines, when none is named. --peer: compare with emulate@0.12.2. --before: compare PostgreSQL with an earlier commit.
npm run bench -- --scale [--rows 1000,100000,1000000] [--engine sqlite|postgres] [--json]
  What requests cost as the store grows. npm run bench -- --instances: one, two and four on one PostgreSQL.
npm run bench -- --sites: compare a sites server with Caddy and nginx, and deploys with rsync.
npm run bench -- --functions: compare functions with plain Node.js, and prerendered pages with static ones.
npm run bench -- --soak MINUTES: memory under a long load, and answers at half load.`

const options = readOptions()
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'))
let earlier: Earlier | undefined
process.on('exit', () => {
  killAll()
  earlier?.remove()
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

try {
  process.stdout.write(await wantedRun()())
  process.exit(0)
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string' },
        seconds: { type: 'string', default: '3' },
        json: { type: 'boolean' },
        peer: { type: 'boolean' },
        before: { type: 'string' },
        scale: { type: 'boolean' },
        soak: { type: 'string' },
        instances: { type: 'boolean' },
        sites: { type: 'boolean' },
        functions: { type: 'boolean' },
        rows: { type: 'string', default: '1000,100000,1000000' },
        engine: { type: 'string' },
      },
    })
    const rows = values.rows.split(',').map(Number)
    if (!rows.every((one) => Number.isInteger(one) && one > 0)) throw new Error('--rows should be whole numbers')
    const engines = ENGINES.filter((one) => values.engine === undefined || values.engine === one)
    if (engines.length === 0) throw new Error('--engine should be sqlite or postgres')
    const seconds = Number(values.seconds)
    if (values.only !== undefined && !NAMES.includes(values.only)) throw new Error(`there is no case "${values.only}"`)
    if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds should be a whole number from 1')
    const soak = Number(values.soak ?? 0)
    if (!(soak >= 0)) throw new Error('--soak should be a number of minutes')
    return { ...values, seconds, rows, soak, engines }
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n${USAGE}\n`)
    process.exit(64)
  }
}

function wantedRun(): () => Promise<string> {
  if (options.soak > 0) return runSoak
  if (options.sites) return runSites
  if (options.functions) return runFunctions
  return options.scale || options.instances ? runScale : runAll
}

function open(): Bench {
  return { loader: openLoader(folder), seconds: options.seconds, say, folder, env: serviceSettings() }
}

async function runSoak(): Promise<string> {
  const bench = open()
  const found = await measureSoak(bench, await openThousand(bench), options.soak)
  return options.json ? `${JSON.stringify(found, null, 2)}\n` : showSoak(found)
}

async function runSites(): Promise<string> {
  const found = await measureSites(open())
  return options.json ? `${JSON.stringify(found, null, 2)}\n` : showSites(found)
}

async function runFunctions(): Promise<string> {
  const found = await measureFunctions(open())
  return options.json ? `${JSON.stringify(found, null, 2)}\n` : showFunctions(found)
}

async function runScale(): Promise<string> {
  const own = options.instances || options.engine === 'postgres' ? await startPostgres(folder) : undefined
  const common = { folder, env: serviceSettings(), rows: options.rows, newDatabase: own?.newDatabase, say }
  try {
    const found = await (options.instances ? measureInstances(common, options.seconds) : measureScale(common))
    if (options.json) return `${JSON.stringify(found, null, 2)}\n`
    return Array.isArray(found) ? showInstances(found) : showScale(found)
  } finally {
    await own?.stop()
  }
}

async function runAll(): Promise<string> {
  const bench = open()
  if (options.before !== undefined) earlier = await checkOut(options.before, folder)
  const results: Results = {
    machine: {
      cores: availableParallelism(),
      node: process.versions.node,
      tool: bench.loader.tool,
      memoryDisk: statfsSync(folder).type === TMPFS,
      seconds: options.seconds,
      before: options.before,
    },
    cases: [],
    durable: undefined,
    check: undefined,
    start: undefined,
    memory: undefined,
  }
  if (options.engines.includes('sqlite')) await measureSqlite(bench, results)
  if (options.engines.includes('postgres')) await measurePostgres(bench, results)
  const goals = judge(results)
  return options.json ? `${JSON.stringify({ ...results, goals }, null, 2)}\n` : show(results, goals)
}

function wants(name: string): boolean {
  return options.only === undefined || options.only === name
}

async function measureSqlite(bench: Bench, results: Results): Promise<void> {
  const wanted = CASES.filter(({ name, goals }) => wants(name) && goals.sqlite)
  const thousand = await openThousand(bench)
  const crowd = wanted.some(({ store }) => store === 'crowd') ? await openCrowd(bench) : undefined
  const work = await openWork(bench, 'sqlite', { thousand, crowd })
  for (const one of wanted) results.cases.push(await measureCase(work, one))
  results.memory = crowd && memoryOf(crowd.server)
  if (wants('durable')) results.durable = await measureDurable(bench, thousand)
  for (const opened of [crowd, thousand, work.peer]) if (opened) await stopServer(opened.server)
  if (wants('check')) results.check = await measureCheck(bench)
  if (wants('start'))
    results.start = await measureStart({ ...bench, env: { ...bench.env, BERTH_DATA: join(folder, 'thousand') } })
}

async function measurePostgres(bench: Bench, results: Results): Promise<void> {
  const wanted = CASES.filter(({ name, goals }) => wants(name) && goals.postgres)
  if (wanted.length === 0) return
  const own = await startPostgres(folder)
  const place = async (name: string) => ({
    ...bench,
    folder: join(folder, name),
    env: { ...bench.env, DATABASE_URL: await own.newDatabase() },
  })
  const thousand = await openThousand(await place('on-postgres'))
  const before = earlier && (await openThousand(await place('on-postgres-before'), earlier))
  const work = { ...(await openWork(bench, 'postgres', { thousand, crowd: undefined })), before }
  for (const one of wanted) results.cases.push(await measureCase(work, one))
  for (const opened of [thousand, before, work.peer]) if (opened) await stopServer(opened.server)
  await own.stop()
}

/** Starts what the service is compared with. */
async function openWork({ loader, seconds }: Bench, engine: Engine, stores: Work['stores']): Promise<Work> {
  const bare = await startServer('scripts/bench/bare.ts', process.env, { channel: 'ipc' })
  const peer = options.peer ? await fillPeer(await startPeer(folder), newNames) : undefined
  return { engine, loader, seconds, say, bare, stores, peer, before: undefined }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** As an operator runs it, but for the place, the port and the rate limits; never on an existing database. */
function serviceSettings(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(BERTH_|HOST$|DATABASE_URL$)/.test(name))
  const own = {
    PORT: '0',
    BERTH_EDGE_PORT: '0',
    BERTH_SITES_PORT: 'off',
    BERTH_RATE_LIMITS: 'off',
    // A fast machine creates more than an account may have.
    BERTH_BUDGETS: '{"projects":null}',
    BERTH_DATA: join(folder, 'store'),
  }
  return { ...Object.fromEntries(kept), ...own }
}

/**
 * `npm run bench`: how fast the service is, beside a bare `node:http` server that sends the same bytes, in one run on one
 * machine. What each figure means: docs/bench.md. A goal that is not reached is told, and is no failure.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureCheck } from './bench/check.ts'
import { killAll, memoryOf, startServer, stopServer } from './bench/children.ts'
import { measureInstances } from './bench/instances.ts'
import { openLoader } from './bench/load.ts'
import { type Bench, CASES, measureCase, measureDurable, measureStart, seed, startService } from './bench/measure.ts'
import { startPostgres } from './bench/postgres.ts'
import { judge, type Results, show } from './bench/report.ts'
import { measureScale } from './bench/scale.ts'
import { showInstances, showScale } from './bench/scale-report.ts'
import { measureSoak, showSoak } from './bench/soak.ts'

const TMPFS = 0x01021994
const NAMES = [...CASES.map(({ name }) => name), 'durable', 'check', 'start']
const USAGE = `npm run bench -- [--only ${NAMES.join('|')}] [--seconds N] [--json]
  DATABASE_URL=postgres://… measures PostgreSQL, in an empty database that may be thrown away.
npm run bench -- --scale [--rows 1000,100000,1000000] [--engine sqlite|postgres] [--json]
  What requests cost as the store grows. npm run bench -- --instances: one, two and four on one PostgreSQL.
npm run bench -- --soak MINUTES: memory under a long load, and answers at half load.`

const options = readOptions()
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'))
process.on('exit', () => {
  killAll()
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
        seconds: { type: 'string', default: '5' },
        json: { type: 'boolean' },
        scale: { type: 'boolean' },
        soak: { type: 'string' },
        instances: { type: 'boolean' },
        rows: { type: 'string', default: '1000,100000,1000000' },
        engine: { type: 'string', default: 'sqlite' },
      },
    })
    const rows = values.rows.split(',').map(Number)
    if (!rows.every((one) => Number.isInteger(one) && one > 0)) throw new Error('--rows should be whole numbers')
    if (!['sqlite', 'postgres'].includes(values.engine)) throw new Error('--engine should be sqlite or postgres')
    const seconds = Number(values.seconds)
    if (values.only !== undefined && !NAMES.includes(values.only)) throw new Error(`there is no case "${values.only}"`)
    if (!Number.isInteger(seconds) || seconds < 1) throw new Error('--seconds should be a whole number from 1')
    const soak = Number(values.soak ?? 0)
    if (!(soak >= 0)) throw new Error('--soak should be a number of minutes')
    return { ...values, seconds, rows, soak }
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n${USAGE}\n`)
    process.exit(64)
  }
}

function wantedRun(): () => Promise<string> {
  if (options.soak > 0) return runSoak
  return options.scale || options.instances ? runScale : runAll
}

async function runSoak(): Promise<string> {
  const found = await measureSoak(await open(), options.soak)
  return options.json ? `${JSON.stringify(found, null, 2)}\n` : showSoak(found)
}

async function runAll(): Promise<string> {
  const results = await run(await open())
  const goals = judge(results)
  return options.json ? `${JSON.stringify({ ...results, goals }, null, 2)}\n` : show(results, goals)
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

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Starts the service over a new store that has some projects, and the bare server. */
async function open(): Promise<Bench> {
  const env = serviceSettings()
  const service = await startService('bin/berth.mjs', env)
  const bare = await startServer('scripts/bench/bare.ts', process.env, 'ipc')
  await seed(service)
  const { token } = service
  return { loader: openLoader(folder), seconds: options.seconds, say, folder, env, service, bare: { ...bare, token } }
}

/** As an operator runs it, but for the place and the port; never over a store that somebody has. */
function serviceSettings(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(BERTH_|HOST$|DATABASE_URL$)/.test(name))
  const given = process.env.DATABASE_URL ?? ''
  return {
    ...Object.fromEntries(kept),
    PORT: '0',
    BERTH_EDGE_PORT: '0',
    BERTH_DATA: join(folder, 'store'),
    ...(/^postgres(ql)?:/.test(given) && { DATABASE_URL: given }),
  }
}

async function run(bench: Bench): Promise<Results> {
  const wanted = (name: string) => options.only === undefined || options.only === name
  const embedded = bench.env.DATABASE_URL === undefined
  const cases = []
  for (const measured of CASES) if (wanted(measured.name)) cases.push(await measureCase(bench, measured))
  // On PostgreSQL the server decides what shares an fsync.
  const durable = embedded && wanted('durable') ? await measureDurable(bench) : undefined
  const memory = memoryOf(bench.service)
  const check = wanted('check') ? await measureCheck(bench) : undefined
  await stopServer(bench.service)
  const start = wanted('start') ? await measureStart(bench) : undefined
  const machine = {
    cores: availableParallelism(),
    node: process.versions.node,
    engine: embedded ? 'embedded store' : 'PostgreSQL',
    tool: bench.loader.tool,
    memoryDisk: embedded && statfsSync(folder).type === TMPFS,
    seconds: options.seconds,
  }
  return {
    machine,
    cases,
    durable,
    check,
    start,
    memory: options.only === 'start' || options.only === 'check' ? undefined : memory,
  }
}

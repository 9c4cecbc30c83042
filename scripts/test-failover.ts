/**
 * `npm run test:failover`: the leader of three PostgreSQL under Patroni fails in every way, under load, with a ledger of what was
 * acknowledged. Prints its figures, and ends with 1 when a promise is broken. `--short` is the form of npm run verify. docs/scaling.md: Failover.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { type Cluster, startCluster } from '../test/failover/cluster.ts'
import { befall, mustLose, noFigures } from '../test/failover/drill.ts'
import { cutFromPeers, LEADER_FAULTS, type LeaderFault } from '../test/failover/faults.ts'
import { folderInside, runInside, whyNoDrill } from '../test/failover/inside.ts'
import { type Row, showRows } from '../test/failover/report.ts'
import { openWays, type Way } from '../test/failover/ways.ts'
import type { Found, Run } from '../test/faults/fault.ts'

const CONTROL: LeaderFault = { name: 'control: asynchronous', make: cutFromPeers, times: [2, 1] }
const ALL = [...LEADER_FAULTS, CONTROL]
const USAGE = `npm run test:failover -- [--short] [--only <fault>] [--times <number>]
  faults: ${ALL.map(({ name }) => name).join(' | ')}`

const options = readOptions()
const began = performance.now()
const folder = folderInside()
process.exit(folder === undefined ? await outside() : await drill(folder))

function readOptions(): { short: boolean; only: string | undefined; times: number | undefined } {
  try {
    const { values } = parseArgs({
      options: { short: { type: 'boolean' }, only: { type: 'string' }, times: { type: 'string' } },
    })
    if (values.only !== undefined && !ALL.some(({ name }) => name === values.only))
      throw new Error(`unknown fault "${values.only}"`)
    if (values.times !== undefined && !/^[1-9]\d*$/.test(values.times)) throw new Error('--times must be a number')
    return { short: values.short === true, only: values.only, times: values.times ? Number(values.times) : undefined }
  } catch (error) {
    process.stderr.write(`test-failover: ${(error as Error).message}\n${USAGE}\n`)
    process.exit(64)
  }
}

async function outside(): Promise<number> {
  const why = whyNoDrill()
  if (why === undefined) return runInside([process.execPath, import.meta.filename, ...process.argv.slice(2)])
  process.stdout.write(`failover: SKIPPED: ${why}\n`)
  return 0
}

async function drill(folder: string): Promise<number> {
  const run: Run = {
    engine: 'postgres',
    found: noneFound(),
    short: options.short,
    timeoutMs: 240_000,
    // What is started ends with its namespace, which ends with this process.
    after: () => {},
    say: (line) => process.stderr.write(`${seconds().toFixed(0).padStart(4)} s ${line}\n`),
    hasTime: () => true,
  }
  const rows: Row[] = []
  try {
    const cluster = await startCluster(folder)
    const ways = await openWays(run, folder, cluster)
    run.say('three PostgreSQL run, and two Berths on each way to them')
    for (const fault of ALL) {
      if (options.only === undefined || options.only === fault.name) await runOne(run, cluster, ways, fault, rows)
    }
  } catch (error) {
    run.say(`it ended with ${error instanceof Error ? error.stack : error}`)
    process.stderr.write(execFileSync('sh', ['-c', `tail -n 15 ${folder}/*.log`]))
    return 1
  } finally {
    process.stdout.write(showRows(rows, seconds()))
  }
  return rows.some(({ found }) => found.broken.length > 0) ? 1 : 0
}

async function runOne(run: Run, cluster: Cluster, ways: Way[], fault: LeaderFault, rows: Row[]): Promise<void> {
  const found = noneFound()
  const figures = ways.map(({ name }) => noFigures(name))
  const times = options.times ?? fault.times[options.short ? 1 : 0]
  if (times > 0) rows.push({ fault: fault.name, found, figures })
  for (let at = 1; at <= times; at++) {
    const begin = { ...run, found }
    if (fault === CONTROL) await mustLose(begin, cluster, ways, fault, figures, `control${at}`)
    else await befall(begin, cluster, ways, fault, figures, `f${ALL.indexOf(fault)}x${at}`)
    found.cycles++
    const writes = figures.map(({ way, writes }) => `${way} ${writes.at(-1)!.toFixed(1)} s`).join(', ')
    run.say(`${fault.name}, ${at} of ${times}: writes go on after ${writes}`)
    for (const line of found.broken.slice(0, 10)) run.say(`BROKEN: ${line.slice(0, 500)}`)
  }
}

function noneFound(): Found {
  return { cycles: 0, acknowledged: 0, lost: 0, halfDone: 0, recoveriesMs: [], broken: [], notes: [] }
}

function seconds(): number {
  return (performance.now() - began) / 1000
}

/**
 * `npm run test:faults`: faults against the real program, on both engines, with a ledger of what it acknowledged. Prints its
 * figures, and ends with 1 when a promise is broken. `--short` is the form for every change. docs/faults.md.
 */
import { parseArgs } from 'node:util'
import type { Fault, Found, Run } from '../test/faults/fault.ts'
import { FAULTS } from '../test/faults/faults.ts'
import { openFaultPostgres } from '../test/faults/postgres-server.ts'
import { ENGINES, type Engine } from '../test/support/world.ts'

/** After it no cycle begins but the first of a fault; so a run ends in 2 and 15 minutes. */
const MAX_MS = { short: 100_000, full: 13 * 60_000 }
const USAGE = `npm run test:faults -- [--short] [--only <fault>] [--engine sqlite|postgres] [--minutes <number>]
  faults: ${FAULTS.map(({ name }) => name).join(' | ')}`

type Row = { fault: Fault; engine: Engine; found: Found; skipped?: string }

const options = readOptions()
const began = performance.now()
const cleanups: (() => unknown)[] = []
let interrupted = false
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => {
    interrupted = true
    cleanUp().finally(() => process.exit(code))
  })
}

// An unhandled error also ends the run, after the cleanup of processes and mounts.
process.on('uncaughtException', (error) => {
  console.error(error)
  interrupted = true
  cleanUp().finally(() => process.exit(1))
})

const rows = await runAll().finally(cleanUp)
process.stdout.write(show(rows))
const broken = rows.filter(({ found }) => found.broken.length > 0)
process.exit(broken.length > 0 || rows.length === 0 ? 1 : 0)

type Options = { short: boolean; only: string | undefined; engine: string | undefined; maxMs: number }

function readOptions(): Options {
  const word = { type: 'string' } as const
  try {
    const { values } = parseArgs({
      options: { short: { type: 'boolean' }, only: word, engine: word, minutes: word },
    })
    const maxMs = values.minutes === undefined ? MAX_MS[values.short ? 'short' : 'full'] : 60_000 * +values.minutes
    if (!(maxMs > 0)) throw new Error('--minutes must be a number above zero')
    if (values.only !== undefined && !FAULTS.some(({ name }) => name === values.only))
      throw new Error(`unknown fault "${values.only}"`)
    return { short: values.short === true, only: values.only, engine: values.engine, maxMs }
  } catch (error) {
    process.stderr.write(`test-faults: ${(error as Error).message}\n${USAGE}\n`)
    process.exit(64)
  }
}

/** Both engines side by side, the faults of one after another. */
async function runAll(): Promise<Row[]> {
  const wanted = FAULTS.filter(({ name }) => options.only === undefined || options.only === name)
  if (options.engine !== 'sqlite') cleanups.push(await openFaultPostgres())
  const track = async (engine: Engine) => {
    const rows: Row[] = []
    const own = wanted.filter((fault) => fault.engines.includes(engine))
    for (const fault of own) rows.push(await runOne(fault, engine, fault === own.at(-1)))
    return rows
  }
  const engines = ENGINES.filter((engine) => options.engine === undefined || options.engine === engine)
  return (await Promise.all(engines.map(track))).flat()
}

async function runOne(fault: Fault, engine: Engine, isLast: boolean): Promise<Row> {
  // A run that starts now would not be cleaned up.
  if (interrupted) return new Promise(() => {})
  const found: Found = { cycles: 0, acknowledged: 0, lost: 0, halfDone: 0, recoveriesMs: [], broken: [], notes: [] }
  const skipped = fault.cannot?.()
  if (skipped !== undefined) return { fault, engine, found, skipped }
  const ends: (() => unknown)[] = []
  const own = () =>
    Promise.all(
      ends
        .splice(0)
        .reverse()
        .map((end) => end()),
    )
  cleanups.push(own)
  const now = performance.now()
  // A machine that is slow today does a part of everything rather than all of the first.
  const until = now + (began + options.maxMs - now) / (isLast ? 1 : 2)
  const run: Run = {
    engine,
    found,
    short: options.short,
    timeoutMs: 240_000,
    after: (end) => void ends.push(end),
    say: (line) => process.stderr.write(`${elapsed()} ${fault.name} [${engine}]: ${line}\n`),
    hasTime: () => performance.now() < until,
  }
  const before = performance.now()
  try {
    await fault.run(run)
  } catch (error) {
    found.broken.push(`it ended with ${error instanceof Error ? error.stack : error}`)
  }
  await own()
  const seconds = ((performance.now() - before) / 1000).toFixed(1)
  run.say(`${found.broken.length > 0 ? 'BROKEN' : 'holds'}, ${found.cycles} cycles in ${seconds} s`)
  for (const line of found.broken.slice(0, 10)) run.say(`  ${line.slice(0, 1500)}`)
  return { fault, engine, found }
}

async function cleanUp(): Promise<void> {
  for (const end of cleanups.splice(0).reverse()) await end()
}

function elapsed(): string {
  return `${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s`
}

/** How long it was unavailable: half of the times at most, and the longest. */
function backOf({ recoveriesMs }: Found): string[] {
  if (recoveriesMs.length === 0) return ['-', '-']
  const sorted = recoveriesMs.toSorted((a, b) => a - b)
  return [sorted[Math.floor((sorted.length - 1) / 2)]!, sorted.at(-1)!].map((ms) => String(Math.round(ms)))
}

function show(rows: Row[]): string {
  const head = ['fault', 'engine', 'cycles', 'acknowledged', 'lost', 'half done', 'back ms', 'slowest', '']
  const lines = rows.map(({ fault, engine, found, skipped }) => [
    fault.name,
    engine,
    ...(skipped === undefined
      ? [found.cycles, found.acknowledged, found.lost, found.halfDone, ...backOf(found)].map(String)
      : ['-', '-', '-', '-', '-', '-']),
    skipped === undefined ? (found.broken.length > 0 ? 'BROKEN' : 'holds') : `SKIPPED: ${skipped}`,
  ])
  const widths = head.map((_, at) => Math.max(...[head, ...lines].map((line) => line[at]!.length)))
  const text = [head, ...lines].map((line) =>
    line.map((cell, at) => (at < 2 || at === 8 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  '),
  )
  const notes = rows.flatMap(({ fault, engine, found }) =>
    [...found.notes, ...found.broken.slice(0, 5).map((line) => `BROKEN: ${line.slice(0, 1000)}`)].map(
      (note) => `${fault.name} [${engine}]: ${note}`,
    ),
  )
  const sum = (pick: (found: Found) => number) => rows.reduce((total, { found }) => total + pick(found), 0)
  const end = `${sum((one) => one.cycles)} cycles, ${sum((one) => one.acknowledged)} acknowledged, ${sum((one) => one.lost)} lost, ${sum(
    (one) => one.halfDone,
  )} half done, ${sum((one) => one.broken.length)} promises broken, in ${elapsed().trim()}`
  return `${[...text, '', ...notes, ...(notes.length > 0 ? [''] : []), end].map((line) => line.trimEnd()).join('\n')}\n`
}

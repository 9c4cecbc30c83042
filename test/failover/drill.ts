/** One fault of a leader under load, on every way at once: what was acknowledged is counted after healing. docs/scaling.md: Failover. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Found, Run } from '../faults/fault.ts'
import { mustBeAnswers, untilWritten } from '../faults/kill.ts'
import { compare } from '../faults/ledger.ts'
import { type Load, startLoad } from '../faults/load.ts'
import { mustBeWhole, readProjects, withStore } from '../faults/store.ts'
import type { RunningService } from '../support/process.ts'
import { type Cluster, urlOn } from './cluster.ts'
import type { LeaderFault } from './faults.ts'
import type { Node } from './nodes.ts'
import { type Races, settleRaces, startRaces } from './races.ts'
import type { Way, WayName } from './ways.ts'

/** Refusals end so long after another node leads. */
const REFUSALS_MS = 10_000
const LANES = 4
/** How long the load goes on before the node that failed comes back. */
const AFTER_MS = 3000
/** What was answered where the database was unavailable. A full disk says that nothing was stored. */
const ALLOWED = /^(503 (unavailable|busy)|507 storage_full)$/

/** What came of a fault on one way. Each cycle has its seconds. */
export type Figures = {
  way: WayName
  acknowledged: number
  lost: number
  halfDone: number
  /** Names that were given twice. */
  twice: number
  /** From the fault until another node led. */
  leads: number[]
  /** From the fault until a write was acknowledged by it. */
  writes: number[]
  /** From when it led until the last refusal. */
  refusals: number[]
}

type Lane = {
  way: Way
  load: Load
  races: Races
  figures: Figures
  ends: { done: boolean; at: number }[]
  began: number
}

/** Runs the fault once. Adds what it saw to `found` and to the figures of each way. */
export async function befall(
  run: Run,
  cluster: Cluster,
  ways: Way[],
  fault: LeaderFault,
  all: Figures[],
  at: string,
): Promise<void> {
  const before = await cluster.healed()
  const lanes = ways.map((way) => startLane(way, all.find((figures) => figures.way === way.name)!, at))
  await Promise.all(lanes.map(({ load }) => untilWritten(load, 20)))
  const began = performance.now()
  const heal = await fault.make(cluster, before)
  const led = await cluster.newLeader(before.name)
  const since = lanes.map(({ load }) => load.acknowledgedSince())
  await Promise.all(lanes.map(({ load }, number) => untilWritten(load, since[number]! + 1)))
  await sleep(AFTER_MS)
  await heal()
  const leader = await cluster.healed()
  if (leader !== led.node) run.found.notes.push(`${at}: ${led.node.name} led, and after healing ${leader.name}`)
  await sleep(AFTER_MS / 3)
  for (const { load, races } of lanes) {
    load.stop()
    await Promise.all([load.ended, races.stop()])
  }
  for (const lane of lanes) {
    measure(run, lane, began, led.at, at)
    await count(run, lane, leader, at)
  }
}

function startLane(way: Way, figures: Figures, prefix: string): Lane {
  const ends: Lane['ends'] = []
  const load = startLoad(
    way.home,
    way.instances.map(({ address }) => address),
    way.ledger,
    {
      prefix,
      lanes: LANES,
      goesOn: true,
      onWrite: ({ done }) => ends.push({ done, at: performance.now() }),
    },
  )
  return { way, load, races: startRaces(way, prefix), figures, ends, began: way.ledger.acknowledged }
}

function measure(run: Run, { way, load, figures, ends }: Lane, began: number, ledAt: number, when: string): void {
  mustBeAnswers(run, load, ALLOWED)
  for (const fault of new Set(way.instances.flatMap(faultsOf))) run.found.broken.push(`${when} [${way.name}]: ${fault}`)
  const refused = ends.filter(({ done, at }) => !done && at > began)
  const last = refused.at(-1)?.at ?? ledAt
  const first = ends.find(({ done, at }) => done && at > ledAt)
  const refusalsMs = Math.max(0, last - ledAt)
  figures.leads.push((ledAt - began) / 1000)
  figures.writes.push(((first?.at ?? Number.POSITIVE_INFINITY) - began) / 1000)
  figures.refusals.push(refusalsMs / 1000)
  if (refusalsMs > REFUSALS_MS)
    run.found.broken.push(`${when} [${way.name}]: refused for ${Math.round(refusalsMs)} ms after another node led`)
}

/** The faults that an instance has logged since the last time. */
function faultsOf({ out }: RunningService): string[] {
  const lines = out()
    .slice(READ.get(out) ?? 0)
    .split('\n')
  READ.set(out, out().length)
  const faults = lines.filter((line) => line.includes('"level":50')).map((line) => JSON.parse(line))
  return faults.map(({ msg, err }) => `logged "${msg}": ${err?.stack}`)
}

const READ = new WeakMap<RunningService['out'], number>()

/** Holds what the leader stores against the ledger, and the rows of its standbys against its own. */
async function count(run: Run, { way, races, figures, began }: Lane, leader: Node, when: string): Promise<void> {
  const { found } = run
  const direct = { ...way.home, env: { ...way.home.env, DATABASE_URL: urlOn(leader, way.database) } }
  const place = `${when} [${way.name}]`
  const before = { ...found }
  await withStore(direct, async (rows) => {
    await mustBeWhole(rows, found, place, false)
    const stored = await readProjects(rows)
    const { twice, lost } = settleRaces(races.given, stored)
    figures.twice += twice
    found.lost += lost
    if (twice > 0) found.broken.push(`${place}: ${twice} names were given twice`)
    if (lost > 0) found.broken.push(`${place}: ${lost} names were given and are not there`)
    compare(way.ledger, stored, found, place)
  })
  const acknowledged = way.ledger.acknowledged - began
  found.acknowledged += acknowledged
  figures.acknowledged += acknowledged
  figures.lost += found.lost - before.lost
  figures.halfDone += found.halfDone - before.halfDone
  for (const { child } of way.instances) {
    if (child.exitCode !== null) throw new Error(`${place}: the program ended with ${child.exitCode}`)
  }
}

/** The control: with asynchronous replication the fault must lose acknowledged writes, and the drill must see it. */
export async function mustLose(
  run: Run,
  cluster: Cluster,
  ways: Way[],
  fault: LeaderFault,
  figures: Figures[],
  at: string,
): Promise<void> {
  await cluster.setSynchronous(false)
  const own: Found = { ...run.found, acknowledged: 0, lost: 0, halfDone: 0, broken: [], notes: [] }
  await befall({ ...run, found: own }, cluster, ways, fault, figures, at)
  await cluster.setSynchronous(true)
  run.found.acknowledged += own.acknowledged
  run.found.notes.push(`${own.lost} of ${own.acknowledged} acknowledged writes were lost, as they must be`)
  if (own.lost === 0) run.found.broken.push('asynchronous replication lost nothing, so the drill shows nothing')
}

/** The figures of a way before its first cycle. */
export function noFigures(way: WayName): Figures {
  return { way, acknowledged: 0, lost: 0, halfDone: 0, twice: 0, leads: [], writes: [], refusals: [] }
}

/** Judges mutants in their order, several at a time, until there are enough or the time is up. */
import { globalSetup, globalTeardown } from '../../test/support/postgres.ts'
import type { CoverageMap } from '../test/coverage/covering.ts'
import { type Errors, openTypes, refuseByTypes } from './compile.ts'
import { askedOf, type Judge, judgeBy } from './judge.ts'
import { type Lane, openLane } from './lane.ts'
import type { Mutant } from './mutants.ts'
import { diffOf } from './report.ts'
import type { Result, Results } from './results.ts'

/** Each is a process that runs tests; the machine is assumed to have two cores. */
const LANES = 2
/** Mutants per batch of a lane; they are type-checked together. */
const BATCH = 20

export type Wanted = {
  root: string
  /** Where copies of the work tree and what is known are kept. */
  folder: string
  mutants: readonly Mutant[]
  map: CoverageMap
  results: Results
  /** How many mutants are judged, those apart that do not compile or load. */
  sample: number
  /** When the run ends, as `Date.now()`; what is being judged then is given up. */
  until: number
  /** How long the test files of one mutant may take together, by what they took when they were recorded. */
  seconds: number
  /** What a test file may take beyond five times what it took when it was recorded. */
  moreMs: number
  print(line: string): void
}

/**
 * Gives what came of each mutant, those that were known too. A signal ends the run, and so does the end of its time: what was judged before
 * counts, and what was being judged does not. One mutant that hangs takes minutes.
 */
export async function runMutants(wanted: Wanted): Promise<Result[]> {
  const { root, folder, sample, until, print } = wanted
  const stop = new AbortController()
  const timeUp = new AbortController()
  const timer = Number.isFinite(until)
    ? setTimeout(() => timeUp.abort(new Error('the time is up')), until - Date.now())
    : undefined
  const giveUp = AbortSignal.any([stop.signal, timeUp.signal])
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const onSignal = (signal: NodeJS.Signals) => stop.abort(new Error(`the run was ended by ${signal}`))
  const others = new Set(signals.flatMap((signal) => process.rawListeners(signal)))
  const done: Result[] = []
  const counted = () => done.filter(({ outcome }) => outcome !== 'does not compile' && outcome !== 'cannot load').length
  let hasFailed = false
  const isOver = () => hasFailed || giveUp.aborted || Date.now() >= until
  const types = openTypes(root, folder, stop.signal)
  const lanes: Lane[] = []
  await globalSetup()
  // What starts PostgreSQL stops it at a signal, from under the tests: here the lanes end first.
  for (const signal of signals) {
    for (const listener of process.rawListeners(signal))
      if (!others.has(listener)) process.off(signal, listener as () => void)
    process.once(signal, onSignal)
  }
  try {
    for (let at = 1; at <= LANES; at++) lanes.push(await openLane(root, folder, `lane-${at}`, giveUp))
    const judge = judgeBy(root, wanted.map, wanted.results, wanted.seconds, wanted.moreMs, print)
    const queue = [...wanted.mutants]
    let underWay = 0
    // A mutant that nothing kills takes minutes: the other lanes do not wait for it.
    const judgeIn = async (lane: Lane) => {
      while (!isOver()) {
        const batch = queue.splice(0, Math.max(0, Math.min(BATCH, sample - counted() - underWay)))
        if (batch.length === 0) return
        underWay += batch.length
        await judgeBatch(wanted, batch, types, lane, judge, isOver, (results) => done.push(...results))
        underWay -= batch.length
      }
    }
    const ended = lanes.map((lane) =>
      judgeIn(lane).catch((error) => {
        hasFailed = true
        throw error
      }),
    )
    // All end before any of what they use is closed.
    await Promise.allSettled(ended)
    await Promise.all(ended)
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
    if (giveUp.aborted) print(String(giveUp.reason.message))
    for (const signal of signals) process.off(signal, onSignal)
    for (const lane of lanes) await lane.close()
    await globalTeardown()
  }
  return done
}

/** Judges these mutants, and asks the types about them meanwhile: one that they refuse is judged no more, or was judged for nothing. */
async function judgeBatch(
  { root, map, results, seconds, print }: Wanted,
  batch: readonly Mutant[],
  types: Errors,
  lane: Lane,
  judge: Judge,
  isOver: () => boolean,
  give: (results: Iterable<Result>) => void,
): Promise<void> {
  const done = new Map<Mutant, Result>()
  for (const mutant of batch) {
    const found = results.find(mutant, askedOf(map, mutant, seconds))
    if (found !== undefined) done.set(mutant, found)
  }
  const left = batch.filter((mutant) => !done.has(mutant))
  const refused = new Set<Mutant>()
  const asked = batch.filter((mutant) => !done.get(mutant)?.typed)
  const judgeThem = async () => {
    for (let mutant = left.shift(); mutant !== undefined && !isOver(); mutant = left.shift()) {
      if (refused.has(mutant)) continue
      const result = await judge(lane, mutant).catch((error: unknown) => {
        if (isOver()) return undefined
        throw error
      })
      if (result === undefined) return
      done.set(mutant, result)
      print(lineOf(result))
    }
  }
  const ended = await Promise.allSettled([refuseByTypes(root, asked, types, refused), judgeThem()])
  const failed = ended.find(({ status }) => status === 'rejected')
  for (const mutant of failed === undefined ? asked : []) {
    const result = done.get(mutant)
    if (refused.has(mutant))
      done.set(mutant, results.keep(mutant, { outcome: 'does not compile', because: '', tests: [] }))
    else if (result !== undefined) done.set(mutant, results.keepTyped(result))
  }
  give(done.values())
  if (failed?.status === 'rejected') throw failed.reason
}

function lineOf(result: Result): string {
  const by = result.outcome === 'killed' ? ` by ${Object.keys(result.tests)[0]}: ${result.because}` : ''
  return `${result.outcome}${by}\n  ${diffOf(result)}`
}

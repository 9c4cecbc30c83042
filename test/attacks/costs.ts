/** What reading costs: processor time by size, and how long others wait for a piece of it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { slowness } from './processor-time.ts'

type Read = () => Promise<unknown>

/** Readings by name, as a module exports them as `WORST`: at a share of their greatest size. */
export type Worst = Readonly<Record<string, (share: number) => Read>>

export type Question = { module: string; name: string; pieceMs: number | undefined }
export type Costs = { small: number; whole: number; pieces: number[] }

/** The longest that a reading may take at its greatest size, in ms of processor time. */
const MAX_MS = 3000

/**
 * Fails where the processor time of a reading grows faster than its size, and where one piece of it, between two iterations of the event loop,
 * takes its thread longer than `pieceMs`. It reads in a thread of its own, because the test runner looks at each promise of this one.
 * `module`: its `WORST` has the reading.
 */
export async function mustBeCheap(module: string, name: string, pieceMs?: number): Promise<void> {
  const workerData: Question = { module, name, pieceMs }
  const worker = new Worker(join(import.meta.dirname, 'costs-worker.ts'), { workerData })
  const [{ small, whole, pieces }] = (await once(worker, 'message')) as [Costs]
  assert.ok(isLinear(small, whole) && whole < MAX_MS, `${small} ms, then ${whole} ms`)
  assert.ok(isShort(pieces, pieceMs), `pieces of ${pieces.join(', ')} ms`)
}

/** Five times the size: 5 when it is linear, 25 when it is a square. What costs little is mostly chance. */
function isLinear(small: number, whole: number): boolean {
  return whole < 14 * Math.max(small, 20)
}

/** What is too long is so each time, and a collection of garbage is not. */
const TIMES = 6

function isShort(pieces: readonly number[], pieceMs: number | undefined): boolean {
  return pieceMs === undefined || pieces.some((ms) => ms < pieceMs)
}

/**
 * Measures in this thread, in ms: the processor time of a reading at a fifth of its size and at the whole, and its longest pieces until one is
 * short enough. A busy machine is slower, and pieces are judged as if it were not.
 */
export async function costsOf(small: Read, whole: Read, pieceMs: number | undefined): Promise<Costs> {
  // The first readings are those in which nothing was compiled yet.
  for (let time = 0; time < 2; time++) await costMs(small)
  const costs: Costs = { small: Number.POSITIVE_INFINITY, whole: Number.POSITIVE_INFINITY, pieces: [] }
  for (let round = 0; round < TIMES && !isLinear(costs.small, costs.whole); round++) {
    costs.small = Math.min(costs.small, await costMs(small))
    costs.whole = Math.min(costs.whole, await costMs(whole))
  }
  while (costs.pieces.length < TIMES && !isShort(costs.pieces, pieceMs)) {
    const ms = await longestPieceMs(whole)
    costs.pieces.push(ms < pieceMs! ? ms : ms / (await slowness()))
  }
  return costs
}

async function costMs(read: Read): Promise<number> {
  const began = process.cpuUsage()
  await read()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}

async function longestPieceMs(read: Read): Promise<number> {
  let longest = 0
  let isReading = true
  const beats = (async () => {
    while (isReading) {
      const began = process.threadCpuUsage()
      await new Promise((resolve) => setImmediate(resolve))
      const { user, system } = process.threadCpuUsage(began)
      longest = Math.max(longest, user + system)
    }
  })()
  await read()
  isReading = false
  await beats
  return longest / 1000
}

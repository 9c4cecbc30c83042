/** Processor time of one thread: what other programs do next to a test changes it little. */

/** How long one measurement runs at least: the time of one run is exact to some tenths of a ms. The first are shorter, and enough for most. */
const MIN_MS = [4, 8, 16, 16, 16]

/**
 * How many times as slow as where the bounds were set this process runs code like that of a reader, at least 1: a neighbor on the same core
 * makes all of it slower, and what fills memory more than what counts bytes.
 */
export async function slowness(): Promise<number> {
  const ratios = [1]
  for (const [run, ms] of YARDSTICKS) ratios.push((await costOf(run, ms)) / ms)
  return Math.max(...ratios)
}

/** The processor time of a run in ms, as if the machine was not busy. It is exact where it is above `enough`. */
export async function fairCostOf(run: () => unknown, enough: number): Promise<number> {
  const ms = await costOf(run, enough)
  return ms < enough ? ms : ms / (await slowness())
}

const YARD = Buffer.from('%41%42x='.repeat(64 * 1024))

const PAIRS = 'name=%41%42x&'.repeat(8 * 1024)

/** Reads a text byte for byte, as readers do. */
function count(): number {
  let sum = 0
  for (let at = 0; at < YARD.length; at++) {
    const byte = YARD[at]!
    if (byte === 0x25) sum += digit(YARD[at + 1]!) * 16 + digit(YARD[at + 2]!)
    else sum += byte
  }
  return sum
}

function digit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}

/** Makes a text of each of many fields, as readers do. */
function split(): number {
  let sum = 0
  for (const pair of PAIRS.split('&')) sum += decodeURIComponent(pair.slice(pair.indexOf('=') + 1)).length
  return sum
}

/** TABLE work of readers -> what it takes where the bounds were set, in ms. */
const YARDSTICKS: [() => number, number][] = [
  [count, 0.45],
  [split, 0.7],
]

/** A thread that slept has its time added up; of one that runs it is added up only once in 4 ms, on some machines. */
const asleep = new Int32Array(new SharedArrayBuffer(4))
function threadMs(): number {
  Atomics.wait(asleep, 0, 0, 0.001)
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The processor time of one run in ms, over as many runs as the clock needs. It is never more than what a clock on the wall shows. */
export async function once(run: () => unknown, leastMs: number): Promise<number> {
  const before = threadMs()
  const began = performance.now()
  for (let runs = 1; ; runs++) {
    await run()
    const passed = performance.now() - began
    if (passed >= leastMs) return Math.min(passed, threadMs() - before) / runs
  }
}

/** The processor time of one run in ms. Where it is above `enough`, the least of five measurements, of which the last are longer: another process may have used the caches. */
export async function costOf(run: () => unknown, enough: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (const leastMs of MIN_MS) {
    least = Math.min(least, await once(run, leastMs))
    if (least <= enough) break
  }
  return least
}

/** The memory of all processes below one, from `/proc`. docs/runner.md: Limits of a build. */
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

export type Process = { pid: number; parent: number; group: number; pages: number }

/** All processes of the machine, read at most five times a second however many builds look. */
export type ProcessTable = {
  read(): readonly Process[]
  /** Bytes of memory of one, with its part of what it shares. The kernel needs milliseconds for it, so one is read at a time, and builds take turns. */
  shareOf(process: Process): Promise<number>
}

const MAX_AGE_MS = 200
/** A reading that is slow is used this many times as long as it took. */
const COST_FACTOR = 20

/** AT_PAGESZ of getauxval(3). */
const PAGE_SIZE = 6n

/** Bytes of a page: not 4 KiB on every ARM. */
function pageBytes(): number {
  const vector = readOr<Buffer>(() => readFileSync('/proc/self/auxv'), Buffer.alloc(0))
  for (let at = 0; at + 16 <= vector.length; at += 16)
    if (vector.readBigUInt64LE(at) === PAGE_SIZE) return Number(vector.readBigUInt64LE(at + 8))
  return 4096
}

const PAGE = pageBytes()

/** Returns the process of a line of `/proc/<pid>/stat`; undefined: it is none. Pure. */
export function parseStat(text: string): Process | undefined {
  // The name stands in parentheses and may have spaces and parentheses in it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [pid, parent, group, pages] = [text, fields[1], fields[2], fields[21]].map((field) =>
    Number.parseInt(field ?? '', 10),
  )
  return [pid, parent, group, pages].some(Number.isNaN)
    ? undefined
    : { pid: pid!, parent: parent!, group: group!, pages: pages! }
}

/** Opens the table. On another system than Linux it is empty. */
export function openProcessTable(readShare = shareInKernel): ProcessTable {
  let rows: readonly Process[] = []
  let validUntil = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    shareOf(process) {
      const share = last.then(() => readShare(process))
      last = share
      return share
    },
    read() {
      const began = performance.now()
      if (began < validUntil) return rows
      rows = readAll()
      const now = performance.now()
      validUntil = now + Math.max(MAX_AGE_MS, (now - began) * COST_FACTOR)
      return rows
    },
  }
}

function readAll(): Process[] {
  return readOr<string[]>(() => readdirSync('/proc'), [])
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => parseStat(readOr(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '')) ?? [])
}

/** Returns a process, everything that it started, and its process group. Linear in the rows. Pure. */
export function processesBelow(rows: readonly Process[], root: number): Process[] {
  const byParent = Map.groupBy(rows, ({ parent }) => parent)
  const seen = new Map(rows.filter(({ pid, group }) => pid === root || group === root).map((row) => [row.pid, row]))
  const waiting = [...seen.keys()]
  for (const pid of waiting)
    for (const row of byParent.get(pid) ?? [])
      if (!seen.has(row.pid)) {
        seen.set(row.pid, row)
        waiting.push(row.pid)
      }
  return [...seen.values()]
}

/**
 * Returns the bytes of memory of these processes, or at least more than `limit`. The quick sum counts what they share several times, so only where it is
 * above `limit` the kernel is asked for the shares. Returns early once `ended` aborts.
 */
export async function memoryOf(
  processes: readonly Process[],
  limit: number,
  table: Pick<ProcessTable, 'shareOf'>,
  ended: AbortSignal,
): Promise<number> {
  const quick = processes.reduce((sum, { pages }) => sum + pages * PAGE, 0)
  if (quick <= limit) return quick
  let sum = 0
  // The largest first: the rest need not be read where they are over the limit already.
  for (const process of processes.toSorted((a, b) => b.pages - a.pages)) {
    if (sum > limit || ended.aborted) break
    sum += await table.shareOf(process)
  }
  return sum
}

/** The proportional share, where it may be read: not of a pasta of another user. Never rejects. */
async function shareInKernel({ pid, pages }: Process): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/m.exec(rollup) ?? []
  if (kibibytes !== undefined) return Number(kibibytes) * 1024
  // Without what it maps of files, which others have too.
  const text = await readFile(`/proc/${pid}/statm`, 'latin1').catch(() => `0 ${pages} 0`)
  const [, resident, shared] = text.split(' ')
  return Math.max(0, Number(resident) - Number(shared)) * PAGE
}

/** A process may end while it is read. */
function readOr<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

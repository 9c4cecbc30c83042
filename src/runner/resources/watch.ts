/** Ends a build that uses more than its share of the machine. docs/runner.md: Limits of a build. */
import { statfs } from 'node:fs/promises'
import { pause } from '../../platform/base/clock.ts'
import { BuildFailure } from '../build/failure.ts'
import { type DiskUsage, readDiskUsage } from './disk-usage.ts'
import { memoryOf, type ProcessTable, processesBelow } from './processes.ts'

export type BuildLimits = {
  memoryBytes: number
  /** Bytes and number of files of the work directory. */
  diskBytes: number
  files: number
}

const MEMORY_MS = 250
/** A build with a thousand processes that share much is looked at less often, but not so rarely that it takes all of the machine meanwhile. */
const MAX_MEMORY_MS = 5000
const SPACE_MS = 1000
/** Without a reason the directory is counted this often. */
const COUNT_MS = 10_000
/** A build whose directory is large is counted less often, so that counting takes at most 5 % of a processor. So are processes that are slow to read. */
const COST_FACTOR = 20
/** Free bytes of the file system of builds. Below, the control plane on the same disk could not write. */
const DISK_RESERVE = 512 * 1024 ** 2

type Watched = {
  /** The first process of the sandbox. */
  pid: number | undefined
  directory: string
  limits: BuildLimits
  processes: ProcessTable
}

/** Resolves with the failure of a build that is over a limit; undefined once `ended` aborts. */
export async function watchResources(watched: Watched, ended: AbortSignal): Promise<BuildFailure | undefined> {
  const both = new AbortController()
  const signal = AbortSignal.any([ended, both.signal])
  try {
    return await Promise.race([watchMemory(watched, signal), watchDisk(watched, signal)])
  } finally {
    both.abort()
  }
}

async function watchMemory(
  { pid, limits, processes }: Watched,
  signal: AbortSignal,
): Promise<BuildFailure | undefined> {
  let pauseMs = MEMORY_MS
  while (await pause(pauseMs, signal)) {
    if (pid === undefined) continue
    const own = processesBelow(processes.read(), pid)
    const began = performance.now()
    const bytes = await memoryOf(own, limits.memoryBytes, processes, signal)
    if (bytes > limits.memoryBytes) return outOfMemory(limits)
    pauseMs = pauseAfterLook(performance.now() - began)
  }
  return undefined
}

/** Returns how long the memory of a build is not looked at, after a look that took so long. Pure. */
export function pauseAfterLook(tookMs: number): number {
  return Math.max(MEMORY_MS, Math.min(tookMs * COST_FACTOR, MAX_MEMORY_MS))
}

/** Returns the failure of a build that used more than its memory. Pure. */
export function outOfMemory({ memoryBytes }: BuildLimits): BuildFailure {
  return new BuildFailure(
    'BUILD_OUT_OF_MEMORY',
    `The build used more than ${sizeInWords(memoryBytes)} of memory and was ended. Run fewer things at the same time, or ask the operator for a higher BERTH_BUILD_MEMORY.`,
  )
}

/** What is free on the file system, and when the directory was counted last. */
type Counted = { usage: DiskUsage; freeBytes: number; freeFiles: number; at: number; tookMs: number }

async function watchDisk({ directory, limits }: Watched, signal: AbortSignal): Promise<BuildFailure | undefined> {
  let last: Counted | undefined
  const first = await freeSpace(directory)
  while (await pause(SPACE_MS, signal)) {
    const space = await freeSpace(directory)
    if (space === undefined) continue
    if (space.freeBytes < DISK_RESERVE) return diskOfRunnerIsFull()
    const began = performance.now()
    if (!mustCount(last, space, limits, began)) continue
    const usage = (await readDiskUsage(directory)) ?? lostSince(first ?? space, space)
    const failure = overDisk(usage, limits)
    if (failure !== undefined) return failure
    const now = performance.now()
    last = { usage, ...space, at: now, tookMs: now - began }
  }
  return undefined
}

type Space = { freeBytes: number; freeFiles: number }

/** What the whole file system lost: the best that is known of a directory that cannot be counted. */
function lostSince(first: Space, now: Space): DiskUsage {
  return { bytes: first.freeBytes - now.freeBytes, files: first.freeFiles - now.freeFiles }
}

/** Whether it is time, or as much of the file system went as the build may still use. Pure. */
export function mustCount(last: Counted | undefined, space: Space, limits: BuildLimits, now: number): boolean {
  if (last === undefined) return true
  const since = now - last.at
  if (since < last.tookMs * COST_FACTOR) return false
  const bytes = last.usage.bytes + last.freeBytes - space.freeBytes
  const files = last.usage.files + last.freeFiles - space.freeFiles
  return since >= COUNT_MS || bytes > limits.diskBytes || files > limits.files
}

async function freeSpace(directory: string): Promise<Space | undefined> {
  const stats = await statfs(directory).catch(() => undefined)
  return stats && { freeBytes: stats.bavail * stats.bsize, freeFiles: stats.ffree }
}

/** Returns the failure of a build whose directory is too large. Pure. */
function overDisk({ bytes, files }: DiskUsage, limits: BuildLimits): BuildFailure | undefined {
  if (bytes > limits.diskBytes)
    return new BuildFailure(
      'BUILD_OUT_OF_DISK',
      `The build used more than ${sizeInWords(limits.diskBytes)} of disk and was ended. Write less, or ask the operator for a higher BERTH_BUILD_DISK.`,
    )
  if (files > limits.files)
    return new BuildFailure(
      'BUILD_OUT_OF_DISK',
      `The build wrote more than ${limits.files} files and was ended. Write fewer, or ask the operator for a higher BERTH_BUILD_FILES.`,
    )
  return undefined
}

function diskOfRunnerIsFull(): BuildFailure {
  return new BuildFailure(
    'RUNNER_FAILED',
    `The disk of the runner has less than ${sizeInWords(DISK_RESERVE)} left, so its builds were ended. Ask the operator for space in BERTH_RUNNER_CACHE.`,
  )
}

/** Returns a size as messages show it. Pure. */
export function sizeInWords(bytes: number): string {
  const mebibytes = Math.round(bytes / 1024 ** 2)
  return mebibytes >= 10_240 ? `${Math.round(mebibytes / 1024)} GiB` : `${mebibytes} MiB`
}

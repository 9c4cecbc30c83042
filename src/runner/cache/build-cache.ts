/** What builds left for the next ones, on the disk of the runner. docs/runner.md: Build cache. */
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat, statfs, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { removeCutShortLater, writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import type { Workspace } from '../build/workspace.ts'
import { type Kept, listKept, NothingToKeep, pack, removeKept, unpack } from './archive.ts'
import type { CacheKeys } from './cache-key.ts'
import { type CacheBudget, type CacheEntry, planEviction } from './eviction.ts'

export type BuildCache = {
  /** Unpacks the first that is there. `failed`: it is damaged or takes too long, and is removed with all that was unpacked. Throws the reason of `signal`. */
  restore(keys: CacheKeys, workspace: Workspace, signal: AbortSignal): Promise<'restored' | 'none' | 'failed'>
  /** Packs what the build left, and removes what is over budget then. Never throws: a build without a cache is slower, and nothing more. */
  save(keys: CacheKeys, workspace: Workspace, signal: AbortSignal): Promise<void>
}

const SUFFIX = '.tar.zst'
const NAME = /^([0-9a-f]{16})\.[0-9a-f]{32}\.tar\.zst$/
/** Bytes of the file system that a cache leaves free. */
const DISK_RESERVE = 2 * 1024 ** 3
/** Within the time of its step: a cache that takes longer would end this build, and each later one that finds it. */
const UNPACK_MS = 4 * 60_000
/** Another runner may be writing there. */
const STALE_MS = 60 * 60_000

type Options = { folder: string; budget: CacheBudget; maxInside: number; unpackMs?: number; log: Logger }

/** Opens the directory of build caches. `maxInside`: bytes of one before compression. `unpackMs`: for one. Throws the system error where it cannot be created. */
export async function openBuildCache(options: Options): Promise<BuildCache> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 })
  await removeCutShortLater(options.folder, Date.now() - STALE_MS)
  await evict(options)
  return {
    restore: (keys, workspace, signal) => restore(options, keys, workspace, signal),
    save: (keys, workspace, signal) => save(options, keys, workspace, signal),
  }
}

async function restore(options: Options, keys: CacheKeys, workspace: Workspace, signal: AbortSignal) {
  for (const key of keys.readable) {
    const file = join(options.folder, `${key}${SUFFIX}`)
    const handle = await open(file, 'r').catch(() => undefined)
    if (handle === undefined) continue
    try {
      return await restoreFrom(options, file, handle, workspace, signal)
    } finally {
      await handle.close().catch(() => {})
    }
  }
  return 'none'
}

async function restoreFrom(
  { log, unpackMs = UNPACK_MS }: Options,
  file: string,
  handle: FileHandle,
  workspace: Workspace,
  signal: AbortSignal,
) {
  let before: Kept | undefined
  try {
    before = await listKept(workspace, signal)
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(unpackMs)])
    await unpack(workspace, createReadStream('', { fd: handle }), inTime)
    const now = new Date()
    await utimes(file, now, now).catch(() => {})
    return 'restored'
  } catch (error) {
    signal.throwIfAborted()
    log.warn({ err: error, file }, 'cannot restore a build cache; it is removed')
    await rm(file, { force: true })
    if (before !== undefined) await removeKept(workspace, before, signal)
    return 'failed'
  }
}

async function save(options: Options, keys: CacheKeys, workspace: Workspace, signal: AbortSignal): Promise<void> {
  const { folder, budget, maxInside, log } = options
  const began = performance.now()
  try {
    const max = Math.min(budget.accountBytes, await roomIn(folder))
    const pieces = pack(workspace, { max, maxInside }, signal)
    await writeStreamAtomically(join(folder, `${keys.own}${SUFFIX}`), pieces)
    await evict(options)
    log.info({ seconds: Math.round((performance.now() - began) / 1000) }, 'saved a build cache')
  } catch (error) {
    if (!(error instanceof NothingToKeep) && !signal.aborted) log.warn({ err: error }, 'cannot save a build cache')
  }
}

/** Builds that run need the rest of the disk. */
async function roomIn(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize - DISK_RESERVE
}

async function evict({ folder, budget, log }: Options): Promise<void> {
  for (const { name } of planEviction(await entriesOf(folder), budget)) {
    await rm(join(folder, name), { force: true })
    log.info({ name }, 'removed a build cache')
  }
}

async function entriesOf(directory: string): Promise<CacheEntry[]> {
  const entries: CacheEntry[] = []
  for (const name of await readdir(directory)) {
    const [, account] = NAME.exec(name) ?? []
    // Another runner may have removed it.
    const stats = account && (await stat(join(directory, name)).catch(() => undefined))
    if (account && stats) entries.push({ name, account, bytes: stats.size, usedAt: stats.mtimeMs })
  }
  return entries
}

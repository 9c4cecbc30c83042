/** Cache files on disk: `objects/<account>/<SHA-256>`, with encoded forms as `<SHA-256>.<size>.<coding>`. */
import { type FileHandle, lstat, mkdir, open, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeStaleTemporaryFiles, writeNamedWhole } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import type { Encoding } from '../static/encodings.ts'

const READ_ONLY = 0o400
const ACCOUNT = /^[A-Za-z0-9_-]{1,64}$/
const SHA256 = /^[0-9a-f]{64}$/
const NAME = /^(?<sha256>[0-9a-f]{64})(?:\.(?<size>\d{1,15})\.(?<encoding>br|zstd))?$/
/** Files checked concurrently at startup. */
const AT_ONCE = 64

/** A file as the index names it: `<account>/<SHA-256>`, with `.<coding>` appended for an encoded form. */
export type CachedFile = { key: string; size: number }

/** Returns the cache key of a file. Throws on an invalid account or digest: both become part of a path and never come from a visitor. */
export function keyOf(account: string, sha256: string, encoding?: Encoding): string {
  if (!ACCOUNT.test(account) || !SHA256.test(sha256)) throw new Error(`no file of an account: ${account} ${sha256}`)
  return encoding === undefined ? `${account}/${sha256}` : `${account}/${sha256}.${encoding}`
}

export type CacheFiles = {
  /** Returns all files, least recently used first. Removes incomplete encoded forms and empty directories. */
  list(): Promise<CachedFile[]>
  /** Writes a file atomically. `cacheKey` is called for the name after all pieces arrived. If the pieces throw, no file remains. */
  write(account: string, pieces: AsyncIterable<Buffer>, file: () => CachedFile): Promise<void>
  /** Opens a file for reading. Returns undefined if it is missing or has another size. */
  open(file: CachedFile): Promise<FileHandle | undefined>
  remove(file: CachedFile): Promise<void>
}

/** Opens the cache directory, creates it if missing, and removes unfinished files of a killed process. One process owns a directory. */
export function openCacheFiles(directory: string): CacheFiles {
  const objects = join(directory, 'objects')
  const arriving = join(directory, 'arriving')
  for (const path of [directory, objects, arriving]) createDirectory(path)
  removeStaleTemporaryFiles(arriving, '', Number.NEGATIVE_INFINITY)
  const pathOf = ({ key, size }: CachedFile) => {
    const [plain = '', encoding] = key.split('.')
    return join(objects, encoding === undefined ? plain : `${plain}.${size}.${encoding}`)
  }
  return {
    list: () => listFiles(objects),
    remove: (file) => rm(pathOf(file), { force: true }),
    open: (file) => openWhole(pathOf(file), file.size),
    async write(account, pieces, file) {
      await mkdir(join(objects, account), { mode: 0o700 }).catch(ignore('EEXIST'))
      await writeNamedWhole(arriving, pieces, () => pathOf(file()), READ_ONLY)
    },
  }
}

async function openWhole(path: string, size: number): Promise<FileHandle | undefined> {
  const handle = await open(path, 'r').catch(ignore('ENOENT'))
  if (handle === undefined) return undefined
  const stats = await handle.stat()
  if (stats.isFile() && stats.size === size) return handle
  await handle.close()
  return undefined
}

type Found = CachedFile & { usedAt: number }

async function listFiles(objects: string): Promise<CachedFile[]> {
  const found: Found[] = []
  for (const account of await readdir(objects, { withFileTypes: true })) {
    if (!account.isDirectory() || !ACCOUNT.test(account.name)) continue
    const names = await readdir(join(objects, account.name))
    for (let at = 0; at < names.length; at += AT_ONCE) {
      const batch = names.slice(at, at + AT_ONCE).map((name) => inspect(objects, account.name, name))
      for (const entry of await Promise.all(batch)) if (entry !== undefined) found.push(entry)
    }
    if (names.length === 0) await rmdir(join(objects, account.name))
  }
  return found.sort((a, b) => a.usedAt - b.usedAt)
}

/** Returns undefined for files outside the cache layout and leaves them alone. Removes a truncated encoded form. */
async function inspect(objects: string, account: string, name: string): Promise<Found | undefined> {
  const named = NAME.exec(name)?.groups
  const path = join(objects, account, name)
  const stats = named && (await lstat(path))
  if (named === undefined || stats === undefined || !stats.isFile()) return undefined
  const encoding = named.encoding as Encoding | undefined
  if (encoding !== undefined && Number(named.size) !== stats.size) {
    await rm(path, { force: true })
    return undefined
  }
  // Without access times on the file system, the order is that of writing.
  const usedAt = Math.max(stats.atimeMs, stats.mtimeMs)
  return { key: keyOf(account, named.sha256!, encoding), size: stats.size, usedAt }
}

function ignore(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error
    return undefined
  }
}

/** The files of the cache on the disk: `objects/<account>/<SHA-256>`, and encoded forms beside them as `<SHA-256>.<size>.<coding>`. */
import { type FileHandle, lstat, mkdir, open, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeStaleTemporaryFiles, writeNamedWhole } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import type { Encoding } from '../static/encodings.ts'

/** Owner's eyes only, and nobody writes. */
const READ_ONLY = 0o400
const ACCOUNT = /^[A-Za-z0-9_-]{1,64}$/
const SHA256 = /^[0-9a-f]{64}$/
const NAME = /^(?<sha256>[0-9a-f]{64})(?:\.(?<size>\d{1,15})\.(?<encoding>br|zstd))?$/
/** Files that are looked at together at the start. */
const AT_ONCE = 64

/** A file as the index names it: `<account>/<SHA-256>`, and `.<coding>` behind that for an encoded form. */
export type CachedFile = { key: string; size: number }

/** The key of a file. Throws on what is no account or no digest: neither comes from a visitor, and each is part of a path. */
export function keyOf(account: string, sha256: string, encoding?: Encoding): string {
  if (!ACCOUNT.test(account) || !SHA256.test(sha256)) throw new Error(`no file of an account: ${account} ${sha256}`)
  return encoding === undefined ? `${account}/${sha256}` : `${account}/${sha256}.${encoding}`
}

export type CacheFiles = {
  /** Every file that is there, the one that was used longest ago first. Removes encoded forms that are not whole, and empty folders. */
  list(): Promise<CachedFile[]>
  /** Writes a file whole; `cacheKey` the name is asked for once all pieces are there. What the pieces throw leaves nothing behind. */
  write(account: string, pieces: AsyncIterable<Buffer>, file: () => CachedFile): Promise<void>
  /** Opens a file to read; undefined where it is gone or has another size. */
  open(file: CachedFile): Promise<FileHandle | undefined>
  remove(file: CachedFile): Promise<void>
}

/** Opens the folder of the cache, makes it where it is missing, and removes what a killed process was writing. One process has a folder. */
export function openCacheFiles(folder: string): CacheFiles {
  const objects = join(folder, 'objects')
  const arriving = join(folder, 'arriving')
  for (const one of [folder, objects, arriving]) createDirectory(one)
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
      for (const one of await Promise.all(batch)) if (one !== undefined) found.push(one)
    }
    if (names.length === 0) await rmdir(join(objects, account.name))
  }
  return found.sort((a, b) => a.usedAt - b.usedAt)
}

/** Undefined for what is no file of the cache, which is left alone. An encoded form that lost its end is removed. */
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
  // Where the file system does not note when files are read, the order is that of writing.
  const usedAt = Math.max(stats.atimeMs, stats.mtimeMs)
  return { key: keyOf(account, named.sha256!, encoding), size: stats.size, usedAt }
}

/** For a promise that may fail with this code alone. */
function ignore(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error
    return undefined
  }
}

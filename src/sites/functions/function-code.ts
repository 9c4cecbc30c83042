/** Files of functions on the disk: copies of what the cache has, which no function can change. docs/functions.md: Files. */
import { rm, symlink } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { type FunctionFiles, readFunctionFiles } from '../../delivery/protocol/function-files.ts'
import { createReadableFile } from '../../sandbox/own-files.ts'
import { createReadableDirectory } from '../../sandbox/run-directory.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { piecesOf } from '../content/opened-file.ts'
import { verified } from '../content/pieces.ts'

/** `release`: must be called once the files are not used any more. */
export type PlacedCode = { folder: string; environment: Record<string, string>; release(): void }

export type FunctionCode = {
  /** Returns the directory of a function. Callers of the same function share it. Throws ContentUnavailable, and Error for a list that cannot be placed. */
  place(account: string, list: { digest: string; size: number }): Promise<PlacedCode>
}

/** Files that are copied at once for one function. */
const AT_ONCE = 8
/** Files take whole blocks. */
const BLOCK = 4096
const MAX_BYTES = 4 * 1024 ** 3
const MAX_LIST_BYTES = 16 * 1024 ** 2

type Code = { folder: string; environment: Record<string, string>; bytes: number }
type Entry = { placing: Promise<Code>; bytes: number; uses: number }

/** Opens an empty directory, which the user of sandboxes may enter. `max`: bytes that are kept; what was used longest ago is removed, never what is in use. */
export function openFunctionCode(cache: Pick<ContentCache, 'open'>, directory: string, max = MAX_BYTES): FunctionCode {
  const entries = new Map<string, Entry>()
  let made = 0
  const trim = () => {
    let bytes = entries.values().reduce((sum, entry) => sum + entry.bytes, 0)
    for (const [key, { uses, placing, bytes: own }] of entries) {
      if (bytes <= max) return
      if (uses > 0) continue
      entries.delete(key)
      bytes -= own
      void placing.then((code) => rm(code.folder, { recursive: true, force: true })).catch(() => {})
    }
  }
  const enter = (key: string, account: string, list: { digest: string; size: number }): Entry => {
    const entry: Entry = { placing: place(cache, join(directory, String(++made)), account, list), bytes: 0, uses: 0 }
    entry.placing.then(
      ({ bytes }) => {
        entry.bytes = bytes
        trim()
      },
      // It is in use until then, so no other has its place.
      () => entries.delete(key),
    )
    return entry
  }
  return {
    async place(account, list) {
      const key = `${account}/${list.digest}`
      const entry = entries.get(key) ?? enter(key, account, list)
      // The last is the one that was used last.
      entries.delete(key)
      entries.set(key, entry)
      entry.uses++
      let isHeld = true
      const release = () => {
        if (isHeld) entry.uses--
        isHeld = false
        trim()
      }
      const { folder, environment } = await entry.placing
      return { folder, environment, release }
    },
  }
}

async function place(
  cache: Pick<ContentCache, 'open'>,
  directory: string,
  account: string,
  { digest, size }: { digest: string; size: number },
): Promise<Code> {
  try {
    if (size > MAX_LIST_BYTES) throw new Error('the list of files of the function is too long')
    const list = Buffer.concat(await Array.fromAsync(contentOf(cache, account, digest, size)))
    return await placeFiles(cache, directory, account, readFunctionFiles(list.toString()))
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

/** Directories first, links last: so nothing is written through a link. */
async function placeFiles(
  cache: Pick<ContentCache, 'open'>,
  directory: string,
  account: string,
  { files, links, environment }: FunctionFiles,
): Promise<Code> {
  const named = new Map(files.map((file) => [insideOf(directory, file.path), file]))
  await createReadableDirectory(directory)
  const folders = new Set([directory])
  for (const path of [...named.keys(), ...links.map(({ path }) => insideOf(directory, path))])
    await createDirectories(dirname(path), folders)
  const rest = named.entries()
  let bytes = folders.size * BLOCK
  const worker = async () => {
    for (const [path, { digest, size, executable }] of rest) {
      bytes += Math.ceil(size / BLOCK) * BLOCK
      await createReadableFile(path, contentOf(cache, account, digest, size), executable ? 0o555 : 0o444)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const { path, target } of links) await symlink(target, insideOf(directory, path))
  return { folder: directory, environment, bytes }
}

/** The control plane has checked the path, and this process may be root. */
function insideOf(directory: string, path: string): string {
  const place = join(directory, path)
  if (place.startsWith(`${directory}/`) && normalize(`/${path}`) === `/${path}`) return place
  throw new Error(`the path ${JSON.stringify(path.slice(0, 200))} of a function leads out of it`)
}

async function createDirectories(directory: string, made: Set<string>): Promise<void> {
  if (made.has(directory)) return
  await createDirectories(dirname(directory), made)
  made.add(directory)
  await createReadableDirectory(directory)
}

async function* contentOf(
  cache: Pick<ContentCache, 'open'>,
  account: string,
  sha256: string,
  size: number,
): AsyncGenerator<Buffer> {
  const file = await cache.open(account, { sha256, size })
  try {
    yield* verified(piecesOf(file), { sha256, size, key: `${account}/${sha256}` })
  } finally {
    file.close()
  }
}

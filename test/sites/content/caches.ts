/** Caches over real folders, and files to put into them. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type CacheOptions,
  type ContentCache,
  type ContentFile,
  openContentCache,
} from '../../../src/sites/content/content-cache.ts'
import type { OpenedFile } from '../../../src/sites/content/opened-file.ts'

/** Far more than any test puts into it. */
const ROOMY = 64 * 1024 ** 2

/** Caches by their folder. */
const opened = new Map<string, ContentCache[]>()

/** A folder that goes when the test ends, once the caches over it are closed. */
export function newFolder(t: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-content-'))
  opened.set(folder, [])
  t.after(async () => {
    for (const cache of opened.get(folder)!) await cache.close()
    opened.delete(folder)
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

export function fileOf(bytes: Buffer): ContentFile {
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
}

/** What a control plane has: files by digest, and how often each account fetched. */
export type Origin = {
  fetch: CacheOptions['fetch']
  fetches: string[]
  /** Adds a file and gives it as a deployment names it. */
  add(text: string | Buffer): ContentFile
}

export function openOrigin(): Origin {
  const contents = new Map<string, Buffer>()
  const fetches: string[] = []
  return {
    fetches,
    add(text) {
      const bytes = Buffer.from(text)
      const file = fileOf(bytes)
      contents.set(file.sha256, bytes)
      return file
    },
    async fetch(account, { sha256 }) {
      fetches.push(account)
      const bytes = contents.get(sha256)
      if (bytes === undefined) throw new Error('the control plane has no such file')
      return inPieces(bytes, Math.max(10_000, bytes.length / 10))
    },
  }
}

export async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** A cache that is closed with the test, and keeps nothing in memory unless the test says so: these are about the disk. An error that no test waits for fails the test. */
export async function openCache(t: Pick<TestContext, 'after'>, options: Partial<CacheOptions>): Promise<ContentCache> {
  const { folder = newFolder(t) } = options
  const cache = await openContentCache({
    budgetBytes: ROOMY,
    memoryBytes: 0,
    fetch: async () => {
      throw new Error('the control plane is unavailable')
    },
    onError: (error) => {
      throw error
    },
    ...options,
    folder,
  })
  opened.get(folder)!.push(cache)
  return cache
}

/** Everything in an open file, which is closed then. */
export async function readAll(file: OpenedFile): Promise<Buffer> {
  const bytes = Buffer.alloc(file.size)
  for (let at = 0; at < file.size; ) at += await file.read(bytes.subarray(at), at)
  file.close()
  return bytes
}

export async function readText(cache: ContentCache, account: string, file: ContentFile): Promise<string> {
  return (await readAll(await cache.open(account, file))).toString()
}

/** The names of all files below a folder. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

/** How many handles this process has of files below a folder. */
export function handlesBelow(folder: string): number {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(join('/proc/self/fd', fd))
    } catch {
      return ''
    }
  })
  return names.filter((name) => name.startsWith(folder)).length
}

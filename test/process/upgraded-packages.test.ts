/** After an upgrade that brings a package the program installs it, also where npm runs no scripts. docs/operations.md: Upgrade. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/root.ts'

/** By its address: plain JavaScript has no types. */
const { RUNTIME } = (await import(pathToFileURL(join(root, 'bin', 'runtime.mjs')).href)) as { RUNTIME: string }

const OLD = { 'node_modules/kept': { version: '1.0.0', integrity: 'sha512-kept' } }
const NEW = { ...OLD, 'node_modules/added': { version: '1.0.0', integrity: 'sha512-added' } }

/**
 * A clone as an upgrade leaves it: entry, installer and runtime are the real ones, the program prints what a package says, and `npm` is one that
 * notes its words and installs from the folder `registry`.
 */
function openClone(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-clone-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const at = (...parts: string[]) => join(folder, ...parts)
  const write = (file: string, text: string | object) => {
    mkdirSync(dirname(at(file)), { recursive: true })
    writeFileSync(at(file), typeof text === 'string' ? text : JSON.stringify(text))
  }
  cpSync(join(root, 'bin'), at('bin'), { recursive: true })
  write('scripts/install.mjs', readFileSync(join(root, 'scripts', 'install.mjs'), 'utf8'))
  write('package.json', { type: 'module' })
  write('src/main.ts', "import { says } from 'added'\nexport const main = async () => console.log(says)\n")
  const runtime = RUNTIME.slice(join(root, 'node_modules').length + 1)
  mkdirSync(dirname(at('node_modules', runtime)), { recursive: true })
  symlinkSync(process.execPath, at('node_modules', runtime))
  write('node_modules/kept/package.json', { name: 'kept' })
  write('node_modules/.package-lock.json', { packages: OLD })
  write('registry/added/package.json', { name: 'added', type: 'module', exports: './index.js' })
  write('registry/added/index.js', "export const says = 'added is there'\n")
  write('registry/list.json', { packages: NEW })
  write(
    'path/npm',
    `#!/bin/sh\necho "$@" >> ${at('npm-words')}\n[ -e ${at('offline')} ] && exit 7\ncp -r ${at('registry/added')} ${at('node_modules/added')}\ncp ${at('registry/list.json')} ${at('node_modules/.package-lock.json')}\n`,
  )
  chmodSync(at('path/npm'), 0o755)
  const upgrade = () => {
    write('package-lock.json', { packages: NEW })
    const before = new Date(Date.now() - 3_600_000)
    utimesSync(at('node_modules/.package-lock.json'), before, before)
  }
  const run = () => {
    const env = { PATH: `${at('path')}:${process.env.PATH}`, HOME: folder }
    return spawnSync(process.execPath, [at('bin', 'berth.mjs')], { cwd: folder, env, encoding: 'utf8' })
  }
  const words = () => (existsSync(at('npm-words')) ? readFileSync(at('npm-words'), 'utf8').trim().split('\n') : [])
  return { at, write, upgrade, run, words }
}

test('a package that an upgrade brings is installed by the entry itself, once, and nothing is asked of npm otherwise', (t) => {
  const { at, upgrade, run, words } = openClone(t)
  upgrade()
  const first = run()
  assert.deepEqual([first.status, first.stdout], [0, 'added is there\n'], first.stderr)
  assert.match(first.stderr, /^berth: installing dependencies \(npm install --no-save --omit=dev\)/)
  assert.equal(words().length, 1)
  for (let again = 0; again < 2; again++) {
    const { status, stderr } = run()
    assert.deepEqual([status, stderr, words().length], [0, '', 1])
  }
  // Touched by a checkout, and with nothing new in it: it is compared once, and npm is not asked.
  const lists = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) => at(file))
  utimesSync(lists[1]!, 1, 1)
  assert.deepEqual([run().status, words().length], [0, 1])
  const [wanted, installed] = lists.map((file) => statSync(file).mtimeMs)
  assert.ok(installed! >= wanted!)
})

test('where npm cannot install it, the end says so and what to look at', (t) => {
  const { upgrade, run, write } = openClone(t)
  upgrade()
  write('offline', '')
  const { status, stdout, stderr } = run()
  assert.deepEqual([status, stdout], [7, ''])
  assert.match(stderr, /berth: npm install failed; is the npm registry reachable\?/)
})

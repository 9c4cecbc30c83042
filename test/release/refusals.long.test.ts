/** What `npm run release` refuses, in a repository of its own. Nothing is built. docs/releasing.md. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { bundle } from '../../scripts/release/bundle.ts'
import { arm64Place } from '../../scripts/release/libraries.ts'
import { root } from '../support/root.ts'
import { whyNoArm64 } from './artefacts.ts'

/** They are missed before any test runs. */
const needsLibraries = { skip: whyNoArm64() }
let copy = ''
const path = (name: string) => join(copy, name)

before(() => {
  copy = mkdtempSync(join(tmpdir(), 'berth-refused-'))
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  for (const name of listed.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(path(name)), { recursive: true })
    cpSync(join(root, name), path(name))
  }
  symlinkSync(join(root, 'node_modules'), path('node_modules'))
  appendFileSync(path('.gitignore'), 'node_modules\n')
  git('init', '--quiet')
  change('package.json', (text) => text.replace(/"version": "[^"]+"/, '"version": "9.8.7"'))
})

after(() => rmSync(copy, { recursive: true, force: true }))

function git(...words: string[]): void {
  const caller = ['-c', 'user.name=somebody', '-c', 'user.email=somebody@example.com', '-c', 'commit.gpgsign=false']
  execFileSync('git', [...caller, ...words], { cwd: copy })
}

function change(name: string, make: (text: string) => string): void {
  const text = readFileSync(path(name), 'utf8')
  assert.notEqual(make(text), text, name)
  writeFileSync(path(name), make(text))
  git('add', '--all')
  git('commit', '--quiet', '--message', name)
}

/** What the command said, which must have ended with 1 and made nothing. */
function refused(...words: string[]): string {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  const { status, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...words], {
    cwd: copy,
    encoding: 'utf8',
    env,
  })
  assert.deepEqual([status, existsSync(path('release'))], [1, false], stderr)
  return stderr
}

test('a version without a section in the changelog is refused', () => {
  assert.match(refused(), /CHANGELOG\.md has no section \[9\.8\.7\]: write it/)
})

test('a work tree that is not clean is refused, with the files that are not', () => {
  writeFileSync(path('left-over.txt'), '')
  for (const words of [[], ['--no-tests']])
    assert.match(refused(...words), /not clean; commit or remove:\n.*left-over\.txt/)
  rmSync(path('left-over.txt'))
})

test('a red test is refused', needsLibraries, () => {
  change('CHANGELOG.md', (text) => text.replace('## [Unreleased]', '## [Unreleased]\n\n## [9.8.7]'))
  change('package.json', (text) =>
    text.replace(/"(pre)?check": "[^"]+"/g, (_, pre = '') => `"${pre}check": "exit ${pre ? 0 : 1}"`),
  )
  assert.match(refused(), /npm run check failed: see above/)
})

test('a generated document that is stale is refused, also for a trial', needsLibraries, () => {
  // The generated documents have the version, which was changed by hand.
  assert.match(refused('--no-tests'), /docs\/api\/openapi\.json is stale.*--check failed: see above/s)
})

test('a bundle that would lack a package is refused', async () => {
  for (const entry of ["import 'no-such-package'\n", "await import('no-such-package')\n"])
    await assert.rejects(bundle(entry, '1.0.0'), /not installed, so the bundle would lack it: no-such-package/)
})

test('libraries for arm64 come from the first place that has all of them, and a machine that has none is refused', () => {
  const [bad, good] = ['some', 'all'].map((name) => ({ folder: path(name), late: false }))
  for (const { folder } of [bad!, good!]) mkdirSync(folder)
  assert.throws(
    () => arm64Place([bad!, good!]),
    /no libraries for arm64.*install libstdc\+\+6:arm64 and libatomic1:arm64/,
  )
  const names =
    'ld-linux-aarch64.so.1 libatomic.so.1 libc.so.6 libdl.so.2 libgcc_s.so.1 libm.so.6 libpthread.so.0 libstdc++.so.6'
  for (const name of names.split(' ')) writeFileSync(join(good!.folder, name), '')
  writeFileSync(join(bad!.folder, 'libc.so.6'), '')
  assert.equal(arm64Place([bad!, good!]), good)
})

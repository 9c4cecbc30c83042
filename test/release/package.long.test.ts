/** The npm package of a release, installed from its file into an empty folder. docs/releasing.md, docs/testing-your-integration.md. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { makePackage, PACKAGE_NAME } from '../../scripts/release/package.ts'
import { root } from '../support/root.ts'
import { mustDoItsJob, VERSION } from './artefacts.ts'

const ENV = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: process.env.HOME ?? '' }
let folder = ''

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-installed-'))
  writeFileSync(join(folder, 'berth.tgz'), await makePackage(VERSION))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'helper', private: true, type: 'module' }))
  // Nothing is fetched: the package has no dependencies.
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', './berth.tgz'], { cwd: folder, env: ENV })
})

after(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a program of the installed folder on the runtime of this one, to its end. */
function run(...words: string[]) {
  return spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8', env: ENV })
}

test('the package has one file of the program, and three that start it', () => {
  const files = globSync('{*,bin/*}.mjs', { cwd: join(folder, 'node_modules', PACKAGE_NAME) })
  assert.deepEqual(files.sort(), ['berth.mjs', 'bin/berth.mjs', 'bin/compile-cache.mjs', 'bin/stop-with-shell.mjs'])
})

test('the package has the pages that the program names, and the files to run it with', () => {
  const installed = join(folder, 'node_modules', PACKAGE_NAME)
  const inside = (path: string) => readFileSync(join(installed, path), 'utf8')
  const named = inside('berth.mjs').match(/\bdocs\/[a-z-]+\.md/g) ?? []
  assert.ok(named.length > 10)
  for (const path of [...new Set(named), 'deploy/berth.service', 'deploy/compose.yaml'])
    assert.equal(inside(path), readFileSync(join(root, path), 'utf8'))
  const links = [...inside('README.md').matchAll(/`(docs\/[^`]+\.md)`/g)].map(([, path]) => path!)
  assert.deepEqual(links, ['docs/README.md', 'docs/backup.md', 'docs/upgrading.md'])
  for (const path of links) assert.ok(inside(path).length > 500)
})

test('the installed program does its job', async (t) => {
  await mustDoItsJob(t, { words: [join(folder, 'node_modules', '.bin', 'berth')], folder, env: ENV })
})

test('the example of docs/testing-your-integration.md passes as it stands there', () => {
  const page = readFileSync(join(root, 'docs', 'testing-your-integration.md'), 'utf8')
  const blocks = [...page.matchAll(/^```js (\S+)\n(.*?)^```$/gms)]
  assert.deepEqual(
    blocks.map(([, name]) => name),
    ['integration.js', 'integration.test.js'],
  )
  for (const [, name, text] of blocks) writeFileSync(join(folder, name!), text!)
  const { status, stdout, stderr } = run('--test', '--test-reporter=tap', 'integration.test.js')
  assert.equal(status, 0, stdout + stderr)
  assert.match(stdout, /^# pass 1$/m)
})

test('the declarations are those of what is exported, and a wrong option is an error of tsc', () => {
  const use = `import { type Berth, startBerth } from '${PACKAGE_NAME}'
    const berth: Berth = await startBerth({ port: 0, settings: { BERTH_TIMERS: 'off', DATABASE_URL: 'sqlite:x' } })
    const url: string = berth.url
    await berth.stop({ graceMs: 0 })
    // @ts-expect-error: it is not an option
    await startBerth({ ports: 1 })
    // @ts-expect-error: it is not the name of a setting
    await startBerth({ settings: { HOME: url } })\n`
  writeFileSync(join(folder, 'use.ts'), use)
  const words = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--types', '', 'use.ts']
  const { status, stdout } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), words, {
    cwd: folder,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout)
  const asked = `import * as all from '${PACKAGE_NAME}'; console.log(Object.keys(all).join())`
  assert.equal(run('--input-type=module', '-e', asked).stdout, 'main,startBerth\n')
})

test('a start with an older Node.js says what to do', {
  skip: olderNode() === undefined && 'this machine has no older one',
}, () => {
  const { status, stderr } = spawnSync(olderNode()!, [join(folder, 'node_modules', '.bin', 'berth')], {
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.match(stderr, /^berth: this is Node\.js \S+, and the package needs 24\.15 or newer; [^\n]+\n$/)
})

/** A Node.js of this machine that is older than what Berth needs: the one that npm has run on, where no script of npm put its own first. */
function olderNode(): string | undefined {
  const places = ['/usr/bin/node', '/usr/local/bin/node']
  return places.find((place) => {
    const { status, stdout } = spawnSync(place, ['--version'], { encoding: 'utf8' })
    return status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1]) < 24
  })
}

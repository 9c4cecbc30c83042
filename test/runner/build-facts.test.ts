/** Parts of a build: paths, files of the source, tools, project file, reasons. docs/runner.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { shippedFile } from '../../src/platform/base/shipped-files.ts'
import { explainExit } from '../../src/runner/build/failure.ts'
import { npmSettings } from '../../src/runner/build/npm-settings.ts'
import { buildArguments, ignoredStepOf, projectFile } from '../../src/runner/build/project-file.ts'
import { BadSource, placeSource, resolveInside, staysInside } from '../../src/runner/build/workspace.ts'
import { chooseManagers, chooseNode, packageFacts, UNITS } from '../../src/runner/toolchain/units.ts'
import { leaseOf, sha256 } from './protocol-server.ts'

test('a path names a place in its root, or is refused', () => {
  assert.equal(resolveInside('/w/source', 'a/b c'), '/w/source/a/b c')
  for (const path of ['', '/etc', '..', '../x', 'a/../../x', 'a//b', './a', 'a/.', 'a\0b'])
    assert.throws(() => resolveInside('/w/source', path), BadSource, path)
})

test('a link may end within its root alone', () => {
  for (const [path, target] of [
    ['a', 'b'],
    ['a/b', '../c'],
    ['a/b.func', './y'],
    ['a/b/c', '.././/../d'],
  ] as const)
    assert.ok(staysInside(path, target), target)
  for (const [path, target] of [
    ['a', '/etc'],
    ['a', '../b'],
    ['a/b', '../../c'],
    // `x` may be a link to the root itself.
    ['a/b.func', './x/../y'],
    ['l', 's/s/s/../../../tmp'],
    ['a', ''],
    ['a/b', '..\0'],
  ] as const)
    assert.ok(!staysInside(path, target), target)
})

test('of a file that is longer than its size no more is read, and nothing stays', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-source-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { uid, gid } = statSync(folder)
  let read = 0
  async function* pieces(count: number) {
    for (let at = 0; at < count; at++) {
      read++
      yield Buffer.from('four')
    }
  }
  const place = (path: string, size: number, count: number, text: string) => {
    const entry = { path, kind: 'file' as const, mode: 0o777, size, digest: sha256(text) }
    return placeSource({ folder, owner: { uid, gid } }, [entry], 2 ** 20, (_, write) => write(pieces(count)))
  }
  await assert.rejects(place('a', 9, 50, 'four'.repeat(50)), {
    message: 'A file of the source is longer than its 9 bytes.',
    code: 'RUNNER_FAILED',
  })
  assert.equal(read, 3, 'eight bytes fit')
  assert.deepEqual(readdirSync(folder), [])
  await assert.rejects(place('b', 8, 2, 'foursome'), { message: /^The file b .* has other content/ })
  await place('a', 8, 2, 'fourfour')
  assert.equal(readFileSync(join(folder, 'a'), 'utf8'), 'fourfour')
  assert.equal(statSync(join(folder, 'a')).mode & 0o777, 0o755)
})

test('a version that is as long as a book names none', () => {
  const digits = '1'.repeat(1_000_000)
  const { node, manager } = packageFacts(JSON.stringify({ engines: { node: digits }, packageManager: digits }))
  assert.deepEqual([node, manager], [undefined, undefined])
  assert.equal(packageFacts('{"engines":{"node":""}}').node, undefined, 'and an empty one neither')
})

test('Node.js is the newest that engines allows, else that of the settings, else the nearest that the builder takes', () => {
  const chosen = (nodeVersion: string, engines?: string) => {
    const { major, isAsked } = chooseNode(nodeVersion, engines)
    return `${major}${isAsked ? '' : ' instead'}`
  }
  assert.equal(chosen('22.x'), '22')
  assert.equal(chosen('24.x'), '24')
  assert.equal(chosen('20.x'), '22 instead')
  assert.equal(chosen('8.10.x'), '22 instead')
  assert.equal(chosen('26.x'), '24 instead')
  const to22 = ['^22.3.0', '~22.3', 'v22', ' = 22.x', '22.*', '22', '22.1.0 - 22.9', '<24', '<=23.9', '>= 18 < 24.0.0']
  for (const range of [...to22, '^20.9 || ^22.1', '18 || 20 || 22', '>=20 <23', '18 - 22', '~22', '>=22.3.1-rc.1 <23'])
    assert.equal(chosen('24.x', range), '22', range)
  const to24 = [
    '24.x',
    '>=22',
    ' >= 22.1',
    '>22.x',
    '>=18',
    '*',
    'x',
    '',
    '^20 || >=22',
    '^24.1.0',
    '>=20.9.0',
    '<=24',
    '22 - 24',
  ]
  for (const range of to24) assert.equal(chosen('22.x', range), '24', range)
  // The builder names the error.
  for (const range of [
    'whatever || 3',
    '20.x',
    '^18',
    '>=25',
    'lts/*',
    '>24.x',
    '^22 || next',
    '22.3.1-rc.1',
    '1'.repeat(50),
  ])
    assert.deepEqual([chosen('22.x', range), chosen('24.x', range)], ['22', '24'], range)
})

test('package managers are chosen by lockfile, packageManager, commands and scripts', () => {
  const facts = { entries: [], manager: undefined, texts: [], pnpmLock: undefined, usesCorepack: false }
  const managers = (more: Partial<Parameters<typeof chooseManagers>[0]>) => chooseManagers({ ...facts, ...more })
  const entries = (...paths: string[]) => paths.map((path) => ({ path }))
  assert.deepEqual(managers({ entries: entries('package-lock.json') }), [])
  assert.deepEqual(managers({ entries: entries('apps/web/pnpm-lock.yaml', 'yarn.lock') }), ['pnpm-10', 'yarn-1'])
  assert.deepEqual(managers({ manager: packageFacts('{"packageManager":"pnpm@10.1.0"}').manager }), ['pnpm-10'])
  assert.deepEqual(managers({ texts: [null, 'yarn install', undefined] }), ['yarn-1'])
  assert.deepEqual(managers({ texts: ['{"scripts":{"build":"pnpm -r build"}}'] }), ['pnpm-10'])
  assert.deepEqual(managers({ usesCorepack: true, manager: 'yarn' }), ['corepack', 'yarn-1'])
  assert.deepEqual(managers({ texts: ['corepack enable && pnpm install'] }), ['pnpm-10', 'corepack'])
  const ofLock = (pnpmLock: string, manager?: string) =>
    managers({ entries: entries('pnpm-lock.yaml'), pnpmLock, manager })
  for (const [lock, unit] of [
    ["lockfileVersion: '9.0'\n\nsettings:\n", 'pnpm-10'],
    ["lockfileVersion: '6.0'\r\n", 'pnpm-8'],
    ['lockfileVersion: 5.4\n', 'pnpm-7'],
    ['lockfileVersion: 5.3\n', 'pnpm-7'],
    ['', 'pnpm-10'],
  ] as const)
    assert.deepEqual(ofLock(lock), [unit], lock)
  assert.deepEqual(ofLock("lockfileVersion: '6.0'", 'pnpm'), ['pnpm-10'], 'it fetches the one of packageManager')
  assert.deepEqual(
    [packageFacts('no json'), packageFacts('null')],
    Array(2).fill({ node: undefined, manager: undefined }),
  )
})

test('npm of a build knows the registry of the operator, and private packages by variables of the project', () => {
  const registry = 'https://npm.example/'
  // biome-ignore lint/suspicious/noTemplateCurlyInString: npm replaces it
  const token = '//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n'
  assert.equal(npmSettings({}, undefined), '')
  assert.equal(npmSettings({ NPM_TOKEN: 'a-secret' }, registry), `registry=${registry}\n${token}`)
  assert.equal(npmSettings({ NPM_TOKEN: 'a-secret', NPM_RC: 'a=1\nb=2' }, undefined), 'a=1\nb=2\n')
})

test('the project file has the settings as the builder reads them', () => {
  const lease = leaseOf({
    settings: { ...leaseOf().settings, framework: 'vite', commandForIgnoringBuildStep: 'false' },
  })
  const { projectId, orgId, settings } = JSON.parse(projectFile(lease, 22))
  assert.deepEqual([projectId, orgId], ['prj_1', 'team_1'])
  assert.deepEqual([settings.framework, settings.nodeVersion, settings.buildCommand], ['vite', '22.x', null])
  assert.ok(!('commandForIgnoringBuildStep' in settings))
  assert.equal(buildArguments(leaseOf({ target: 'production' })).at(-1), '--prod')
  assert.equal(buildArguments(leaseOf({ environment: 'staging' })).at(-1), '--target=staging')
})

test('the ignored build step is that of vercel.json, else of the settings', () => {
  const { settings } = leaseOf()
  const step = (file: string | undefined, own: string | null = 'of the project') =>
    ignoredStepOf(file, { ...settings, commandForIgnoringBuildStep: own })
  assert.equal(step(undefined), 'of the project')
  assert.equal(step('{"ignoreCommand":"git diff --quiet"}'), 'git diff --quiet')
  assert.equal(step('{"ignoreCommand":null}'), undefined)
  for (const none of ['{}', 'no json', 'null', '[]']) assert.equal(step(none), 'of the project')
  assert.equal(step(JSON.stringify({ ignoreCommand: 'x'.repeat(257) })), undefined)
  assert.equal(step(undefined, 'x'.repeat(257))?.length, 257)
  assert.equal(step('{}', ' '), undefined)
  assert.equal(step('{}', null), undefined)
})

test('the reason of a failure is the line that names it', () => {
  const exit = { code: 1, signal: null }
  const lines = ['Installing', '\x1b[31mError:\x1b[39m Command "npm run build" exited with 1', '']
  assert.deepEqual(explainExit(exit, lines), {
    code: 'BUILD_FAILED',
    message: 'Error: Command "npm run build" exited with 1\nThe build ended with exit code 1.',
  })
  assert.match(explainExit(exit, []).message, /exit code 1/)
  const killed = { code: 'BUILD_OUT_OF_MEMORY', message: /^The build was killed, probably because memory ran out / }
  const ranOut = { code: 'BUILD_OUT_OF_MEMORY', message: /^The build ran out of memory / }
  for (const [code, line, expected] of [
    [137, '', killed],
    [1, 'Error: Command "npm run build" exited with SIGKILL', killed],
    [137, 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory', ranOut],
  ] as const) {
    const explained = explainExit({ code, signal: null }, [line])
    assert.equal(explained.code, expected.code)
    assert.match(explained.message, expected.message)
  }
  assert.ok(explainExit(exit, ['Error: '.padEnd(9000, 'x')]).message.length <= 2000)
})

/** TABLE the end of a log → what its reason says in addition to the command that failed. */
const COMMANDS: readonly (readonly [lines: readonly string[], reason: readonly string[]])[] = [
  [
    [
      'Installing dependencies...',
      'npm warn EBADENGINE Unsupported engine',
      'npm error code EINTEGRITY',
      'npm error sha512-a integrity checksum failed',
      'npm error ',
      'npm error A complete log of this run can be found in: /work/home/x.log',
    ],
    ['npm error code EINTEGRITY', 'npm error sha512-a integrity checksum failed'],
  ],
  [
    ['> build', 'error during build:', 'no such module', '    at file:///work/source/a.js:1'],
    ['error during build:', 'no such module', '    at file:///work/source/a.js:1'],
  ],
  [[' ERR_PNPM_TARBALL_INTEGRITY  Got unexpected checksum'], [' ERR_PNPM_TARBALL_INTEGRITY  Got unexpected checksum']],
  [
    ['npm error code ECONNREFUSED', 'npm error', 'npm error If you are behind a proxy'],
    ['npm error code ECONNREFUSED', 'npm error If you are behind a proxy'],
  ],
  [['Compiled', 'done'], []],
]

test('a command that failed is named with what it said itself', () => {
  const failures = [
    'Error: [BUILD_UTILS_SPAWN_1] Command "npm install" exited with 1',
    'Error: Command "a" exited with 1',
  ]
  for (const failed of failures)
    for (const [lines, reason] of COMMANDS)
      assert.equal(
        explainExit({ code: 1, signal: null }, [...lines, failed, failed]).message,
        [failed, ...reason, 'The build ended with exit code 1.'].join('\n'),
      )
})

test('each tool has a lockfile with a hash for every package, and names no registry', () => {
  /** They were not on the registry when the file was written. Each is optional and for another system. */
  const without = /vc-native-(darwin|win32|linux-arm64)/
  for (const { manifest, lock } of Object.values(UNITS)) {
    const { packages } = JSON.parse(shippedFile(lock))
    const { '': top, ...rest } = packages as Record<string, { integrity?: string; resolved?: string; inBundle?: true }>
    const asked = JSON.parse(shippedFile(manifest))
    assert.deepEqual(
      [(top as typeof asked).dependencies, (top as typeof asked).optionalDependencies],
      [asked.dependencies, asked.optionalDependencies],
    )
    for (const [name, { integrity, resolved, inBundle }] of Object.entries(rest)) {
      assert.equal(resolved, undefined, name)
      assert.ok(inBundle || without.test(name) || integrity?.startsWith('sha512-'), name)
    }
  }
})

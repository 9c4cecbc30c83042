/** Pure parts of a build: paths, tools, project file, reasons. docs/runner.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shippedFile } from '../../src/platform/base/shipped-files.ts'
import { explainExit } from '../../src/runner/build/failure.ts'
import { buildArguments, ignoredStepOf, projectFile } from '../../src/runner/build/project-file.ts'
import { BadSource, resolveInside, staysInside } from '../../src/runner/build/workspace.ts'
import { chooseManagers, chooseNode, packageFacts, UNITS } from '../../src/runner/toolchain/units.ts'
import { leaseOf } from './protocol-server.ts'

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

test('a version that is as long as a book names none', () => {
  const digits = '1'.repeat(1_000_000)
  const { node, manager } = packageFacts(JSON.stringify({ engines: { node: digits }, packageManager: digits }))
  assert.deepEqual([node, manager], [undefined, undefined])
})

test('Node.js is the one of engines, else of the settings, else the nearest that the builder takes', () => {
  const chosen = (nodeVersion: string, engines?: string) => {
    const { major, isAsked } = chooseNode(nodeVersion, engines)
    return `${major}${isAsked ? '' : ' instead'}`
  }
  assert.equal(chosen('22.x'), '22')
  assert.equal(chosen('24.x'), '24')
  assert.equal(chosen('20.x'), '22 instead')
  assert.equal(chosen('8.10.x'), '22 instead')
  assert.equal(chosen('26.x'), '24 instead')
  assert.equal(chosen('22.x', '24.x'), '24')
  for (const exact of ['^22.3.0', '~22.3', 'v22', ' = 22.x', '22.*']) assert.equal(chosen('24.x', exact), '22', exact)
  for (const from of ['>=22', ' >= 22.1', '>22.x', '>=18']) assert.equal(chosen('22.x', from), '24', from)
  assert.equal(chosen('22.x', '>=18'), '24')
  assert.equal(chosen('22.x', 'whatever || 3'), '22')
})

test('package managers are chosen by lockfile, packageManager and commands', () => {
  const none = { installCommand: null, buildCommand: null }
  const managers = (paths: string[], text?: string, settings: Parameters<typeof chooseManagers>[2] = none) =>
    chooseManagers(
      paths.map((path) => ({ path })),
      packageFacts(text).manager,
      settings,
    )
  assert.deepEqual(managers(['package-lock.json']), [])
  assert.deepEqual(managers(['apps/web/pnpm-lock.yaml', 'yarn.lock']), ['pnpm-10', 'yarn-1'])
  assert.deepEqual(managers([], '{"packageManager":"pnpm@10.1.0"}'), ['pnpm-10'])
  assert.deepEqual(managers([], undefined, { ...none, installCommand: 'yarn install' }), ['yarn-1'])
  assert.deepEqual(
    [packageFacts('no json'), packageFacts('null')],
    Array(2).fill({ node: undefined, manager: undefined }),
  )
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
  assert.equal(explainExit({ code: 137, signal: null }, []).code, 'BUILD_OUT_OF_MEMORY')
  assert.ok(explainExit(exit, ['Error: '.padEnd(9000, 'x')]).message.length <= 2000)
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

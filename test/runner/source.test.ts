/** The source of a build arrives whole, or the build ends with a reason. docs/runner.md: Source. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { callWithSmallFiles } from '../support/stores/file-limit.ts'
import { toolsOf } from './build-tools.ts'
import { openBuilds } from './running.ts'
import { createScriptedSandbox } from './scripted-sandbox.ts'

const GOOD = { exit: { code: 0, signal: null } }
const SOURCE = { 'index.html': '<h1>hello</h1>', 'lib/a.txt': 'a' }

test('a file whose connection breaks is fetched and written again', { timeout: 300_000 }, async (t) => {
  const { server, run } = await openBuilds(t)
  const cut = new Set<string>()
  server.fault = (_, path) => {
    if (!path.includes('/source/') || cut.has(path)) return undefined
    cut.add(path)
    return 'cut'
  }
  assert.equal(await run(toolsOf(createScriptedSandbox(GOOD)), {}, SOURCE), 'succeeded')
  assert.equal(cut.size, 2)
  assert.equal(server.requests.filter((one) => one.includes('/source/')).length, 4)
})

test('a source that is larger than the disk of a build is refused before a byte of it is written', async (t) => {
  const { server, run } = await openBuilds(t)
  const twice = { a: 'x'.repeat(600), b: 'x'.repeat(600) }
  const tools = (diskBytes: number) => toolsOf(createScriptedSandbox(GOOD), { limits: { diskBytes } })
  assert.equal(await run(tools(1199), {}, twice), 'failed')
  assert.ok(!server.requests.some((one) => one.includes('/source/')))
  const [report] = server.reports
  assert.ok(report?.outcome === 'failed' && report.code === 'BUILD_OUT_OF_DISK', JSON.stringify(report))
  assert.match(report.message, /1200 bytes.*BERTH_BUILD_DISK/)
  assert.equal(await run(tools(1200), {}, twice), 'succeeded')
})

test('a file that a full disk takes a part of is not placed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-source-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const place = join(folder, 'a')
  const workspace = { folder, owner: { uid: process.getuid!(), gid: process.getgid!() } }
  const parameters = [workspace, place, 'x'.repeat(100_000)]
  assert.match(callWithSmallFiles('src/runner/build/workspace.ts', 'placeText', parameters), /EFBIG/)
  assert.equal(existsSync(place), false)
})

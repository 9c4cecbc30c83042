/** Tools of builds are installed once, also ahead of the first build. docs/runner.md: Toolchain. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { DEFAULT_BUILDER } from '../../src/platform/settings/builds.ts'
import { openToolchain } from '../../src/runner/toolchain/toolchain.ts'
import { AHEAD, UNITS } from '../../src/runner/toolchain/units.ts'
import { processesWith } from '../sandbox/processes.ts'
import { eventually } from '../support/eventually.ts'

/** A toolchain whose npm writes down how it was called, and installs nothing. */
async function openWithNpm(
  t: TestContext,
  script: string,
  { warnings = [], beforehand = () => {} }: { warnings?: string[]; beforehand?: (tools: string) => void } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-toolchain-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [bin, calls] = [join(folder, 'bin'), join(folder, 'calls')]
  mkdirSync(bin)
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$(nice) $*" >> ${calls}\n${script}\n`)
  chmodSync(join(bin, 'npm'), 0o755)
  beforehand(join(folder, 'tools'))
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const env = { PATH: `${bin}:${process.env.PATH}` }
  const tools = join(folder, 'tools')
  const toolchain = await openToolchain({ folder: tools, env, builder: DEFAULT_BUILDER, log })
  return {
    toolchain,
    tools,
    env,
    calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []),
  }
}

test('all tools are installed ahead with low priority, and a build waits for the one that it needs', async (t) => {
  const { toolchain, calls } = await openWithNpm(t, 'mkdir node_modules')
  const ahead = toolchain.installAhead(t.signal)
  assert.ok(existsSync(join(await toolchain.install('builder', t.signal), 'node_modules')))
  await ahead
  const ofBuilds = Object.keys(UNITS).filter((unit) => unit !== 'pictures')
  assert.deepEqual([...AHEAD].sort(), ofBuilds.sort())
  assert.equal(calls().length, AHEAD.length, 'each once')
  for (const call of calls()) {
    assert.ok(Number.parseInt(call, 10) >= Math.min(19, getPriority() + 15), call)
    assert.match(call, / ci --ignore-scripts /)
  }
})

test('a toolchain that cannot be installed ahead is tried again by the build that needs it', async (t) => {
  const { toolchain, calls } = await openWithNpm(t, 'echo no registry >&2; exit 1')
  await toolchain.installAhead(t.signal)
  await assert.rejects(toolchain.install('node-22', t.signal), /no registry/)
  assert.equal(calls().length, AHEAD.length + 1)
})

test('a runner that stops installs nothing more ahead', async (t) => {
  const { toolchain, calls } = await openWithNpm(t, 'mkdir node_modules')
  await toolchain.installAhead(AbortSignal.abort())
  assert.deepEqual(calls(), [])
})

/** What npm says of its registry, and what a build is given of it. */
const REGISTRIES: [said: string, given: string | undefined, warns: boolean][] = [
  ['echo https://npm.example/of/us/', 'https://npm.example/of/us/', false],
  ['echo http://npm.example:4873', 'http://npm.example:4873/', false],
  ['echo https://user:password@npm.example/', 'https://npm.example/', false],
  ['echo file:///srv/npm', undefined, false],
  ['echo ', undefined, false],
  ['exit 1', undefined, true],
]

test('the registry of npm is asked for once, and given without credentials', async (t) => {
  for (const [script, given, warns] of REGISTRIES) {
    const warnings: string[] = []
    const { toolchain, calls } = await openWithNpm(t, script, { warnings })
    assert.deepEqual(calls(), [], 'a runner that builds nothing does not ask')
    const both = await Promise.all([toolchain.registry(), toolchain.registry()])
    assert.deepEqual([...both, await toolchain.registry()], [given, given, given], script)
    assert.equal(calls().length, 1, script)
    assert.match(calls()[0]!, / config get registry$/)
    assert.deepEqual(
      warnings.map((line) => JSON.parse(line).msg),
      warns ? ['cannot ask npm for its registry'] : [],
      script,
    )
  }
})

test('a start removes installations that a killed runner left, and neither tools nor those in progress', async (t) => {
  const found = ['.new-node-22-old', '.new-node-22-running', 'node-22']
  let tools = ''
  const beforehand = (folder: string) => {
    tools = folder
    for (const name of found) mkdirSync(join(folder, name), { recursive: true })
    for (const name of ['.new-node-22-old', 'node-22']) utimesSync(join(folder, name), 1, 1)
  }
  await openWithNpm(t, 'mkdir node_modules', { beforehand })
  assert.deepEqual(readdirSync(tools).sort(), ['.new-node-22-running', 'node-22'])
})

test('a start passes over an installation that another runner removes meanwhile', async (t) => {
  // Its name is listed, and nothing is there.
  const beforehand = (folder: string) => {
    mkdirSync(folder)
    symlinkSync(join(folder, 'nowhere'), join(folder, '.new-node-22-gone'))
  }
  await openWithNpm(t, 'mkdir node_modules', { beforehand })
})

test('nothing of an installation outlives a runner that is killed', async (t) => {
  const seconds = `${process.pid}91.5`
  const { tools, env } = await openWithNpm(t, `sleep ${seconds} & sleep ${seconds}; true`)
  const program = join(import.meta.dirname, 'installing.ts')
  const runner = spawn(process.execPath, [program, tools], { env, stdio: 'ignore' })
  t.after(() => {
    for (const pid of processesWith(`sleep\0${seconds}`)) process.kill(pid, 'SIGKILL')
  })
  await eventually(() => processesWith(`sleep\0${seconds}`).length === 2)
  runner.kill('SIGKILL')
  await once(runner, 'exit')
  await eventually(() => processesWith(tools).length + processesWith(`sleep\0${seconds}`).length === 0)
})

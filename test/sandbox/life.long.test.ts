/** Nothing in a sandbox outlives its supervisor, a cancel, or a start that fails. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBwrapSandbox } from '../../src/sandbox/bwrap-sandbox.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { removeAbandonedRuns } from '../../src/sandbox/run-directory.ts'
import { eventually } from '../support/eventually.ts'
import { processesWith } from './processes.ts'
import { RUN_AS } from './run-as.ts'
import { runInSandbox, sandboxSkipReason } from './sandbox-world.ts'

const skip = sandboxSkipReason()
const KILLS = 500
const PLAIN_KILLS = 100
const CANCELS = 200
const FAILURES = 100

function openParent(t: { after(work: () => void): void }): string {
  const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
  chmodSync(parent, 0o755)
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  return parent
}

/** With their outermost shell, `sleep` twice, and the supervisor, whose words have the number too. */
const RUNNING = 4

type How = 'sandbox' | 'bare' | 'plain'

/** Kills a supervisor after a time, or once its command runs. Returns how long that took. */
async function killSupervisor(parent: string, seconds: string, how: How, afterMs?: number): Promise<number> {
  const words = [join(import.meta.dirname, 'supervisor.ts'), parent, seconds, how]
  const startedAt = performance.now()
  const supervisor = spawn(process.execPath, words, { stdio: 'ignore' })
  // A random time: the kill meets each step of the start.
  if (afterMs !== undefined) await sleep(afterMs)
  else await eventually(() => processesWith(seconds).length >= RUNNING)
  const tookMs = performance.now() - startedAt
  supervisor.kill('SIGKILL')
  await once(supervisor, 'exit')
  return tookMs
}

/** Four times what one start takes on this machine now: of four at once, many kills then meet one that runs. */
async function maxDelay(parent: string, how: How): Promise<number> {
  return 4 * (await killSupervisor(parent, '39998.5', how))
}

test('nothing outlives a supervisor that is killed at any time', { skip, timeout: 3_600_000 }, async (t) => {
  const parent = openParent(t)
  const maxMs = await maxDelay(parent, 'sandbox')
  for (let kill = 0; kill < KILLS; kill += 4)
    await Promise.all(
      Array.from({ length: 4 }, async (_, lane) => {
        const seconds = `${40_000 + kill + lane}.5`
        await killSupervisor(parent, seconds, 'sandbox', Math.random() * maxMs)
        await eventually(() => processesWith(seconds).length === 0)
      }),
    )
  assert.ok(readdirSync(parent).length > KILLS / 4, 'many were killed while their sandbox ran')
  await removeAbandonedRuns(parent)
  assert.deepEqual(readdirSync(parent), [])
})

test('nothing of the trusted kind outlives a supervisor that is killed at any time', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  const parent = openParent(t)
  const maxMs = await maxDelay(parent, 'plain')
  for (let kill = 0; kill < PLAIN_KILLS; kill++) {
    const seconds = `${70_000 + kill}.5`
    await killSupervisor(parent, seconds, 'plain', Math.random() * maxMs)
    await eventually(() => processesWith(seconds).length === 0)
  }
})

test('without the watched pipe a sandbox outlives its supervisor (the control)', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const seconds = '39999.5'
  await killSupervisor(openParent(t), seconds, 'bare')
  // For what ends with its supervisor to end.
  await sleep(1000)
  const left = processesWith(seconds)
  assert.ok(left.length > 0)
  for (const pid of left) spawnSync('kill', ['-9', String(pid)])
})

test('a cancel ends all that runs inside, at any time', { skip, timeout: 600_000 }, async (t) => {
  const parent = openParent(t)
  for (let cancel = 0; cancel < CANCELS; cancel++) {
    const seconds = `${50_000 + cancel}.5`
    const sandbox = createBwrapSandbox(parent, RUN_AS)
    await sandbox.prepare()
    sandbox.start({
      command: ['sh', '-c', `setsid sleep ${seconds} & sleep ${seconds}`],
      env: { PATH: '/usr/bin' },
      workDirectory: undefined,
      readOnly: [],
      network: 'none',
      currentDirectory: '/tmp',
      limits: DEFAULT_LIMITS,
    })
    sandbox.output().resume()
    // A random time: the cancel meets each step of the start.
    await sleep(Math.random() * 100)
    await sandbox.destroy()
    await eventually(() => processesWith(seconds).length === 0)
  }
  assert.deepEqual(readdirSync(parent), [])
})

test('a start that fails says why, and leaves nothing', { skip, timeout: 600_000 }, async () => {
  for (let failure = 0; failure < FAILURES; failure++) {
    const { output, code } = await runInSandbox('', { command: [`/usr/bin/no-such-${failure}`] })
    assert.match(output, /no-such/)
    assert.notEqual(code, 0)
    assert.deepEqual(processesWith(`no-such-${failure}`), [])
  }
})

/** Nothing of a sandbox with network outlives its supervisor, a cancel, or a pasta that fails. docs/sandbox.md: Life of a run. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { watchAddresses } from '../../src/sandbox/network/watch.ts'
import { trySandbox } from '../../src/sandbox/trial.ts'
import { eventually } from '../support/eventually.ts'
import { labSkipReason, openLab } from './lab.ts'
import { processesWith } from './processes.ts'
import { RUN_AS } from './run-as.ts'

const skip = labSkipReason()
const KILLS = 100
const MAX_DELAY_MS = 700

function openParent(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
  chmodSync(parent, 0o755)
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  return parent
}

test('nothing of a sandbox with network outlives a supervisor that is killed at any time', {
  skip,
  timeout: 1_800_000,
}, async (t) => {
  const lab = await openLab(t)
  const parent = openParent(t)
  let running = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const seconds = `${60_000 + kill}.5`
    const script = join(import.meta.dirname, 'supervisor.ts')
    const [program, ...words] = lab.words(process.execPath, script, parent, seconds, 'network')
    const supervisor = spawn(program!, words, { stdio: 'ignore' })
    // A random time: the kill meets each step of the start.
    await sleep(100 + Math.random() * MAX_DELAY_MS)
    // The supervisor is one of them.
    if (processesWith(seconds).length > 3) running++
    supervisor.kill('SIGKILL')
    await once(supervisor, 'exit')
    await eventually(() => processesWith(seconds).length === 0)
  }
  assert.ok(running > KILLS / 5, `${running} ran when they were killed`)
  t.diagnostic(`${running} of ${KILLS} ran when they were killed`)
})

test('a pasta that fails is reported with what to do, and leaves nothing', { skip, timeout: 300_000 }, async (t) => {
  const parent = openParent(t)
  const pastas = () => processesWith(parent).length
  for (let attempt = 0; attempt < 10; attempt++) {
    const trial = await trySandbox({ parent, runAs: RUN_AS, network: 'internet' })
    if (trial.works) return t.skip('/dev/net/tun of this machine is open to the user of sandboxes')
    assert.match(trial.sentence, /chmod 0666 \/dev\/net\/tun/)
    await eventually(() => pastas() === 0)
  }
  assert.deepEqual(readdirSync(parent), [])
})

test('a pasta that starts nothing is given up', { skip, timeout: 300_000 }, async (t) => {
  const stuck = spawn('sleep', ['1000'], { stdio: 'ignore' })
  t.after(() => stuck.kill('SIGKILL'))
  await new Promise<void>((resolve) => {
    const stop = watchAddresses(stuck.pid!, [], RUN_AS, resolve)
    t.after(stop)
  })
})

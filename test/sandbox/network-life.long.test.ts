/** Nothing of a sandbox with network outlives its supervisor, a cancel, or a pasta that fails. docs/sandbox.md: Life of a run. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findInit, watchAddresses } from '../../src/sandbox/network/watch.ts'
import { removeAbandonedRuns } from '../../src/sandbox/run-directory.ts'
import { eventually } from '../support/eventually.ts'
import { labSkipReason, openLab } from './lab.ts'
import { processesWith } from './processes.ts'
import { RUN_AS } from './run-as.ts'

const skip = labSkipReason()
const KILLS = 100

function openParent(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
  chmodSync(parent, 0o755)
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  return parent
}

for (const [how, name] of [
  ['network', 'nothing of a sandbox with network outlives a supervisor that is killed at any time'],
  [
    'space',
    'nothing that entered a network, and no network that is held, outlives a supervisor that is killed at any time',
  ],
] as const)
  test(name, {
    skip,
    timeout: 1_800_000,
  }, async (t) => {
    const lab = await openLab(t)
    const parent = openParent(t)
    let [running, maxMs] = [0, 0]
    for (let kill = 0; kill < KILLS; kill++) {
      const seconds = `${60_000 + kill}.5`
      const script = join(import.meta.dirname, 'supervisor.ts')
      const [program, ...words] = lab.words(process.execPath, script, parent, seconds, how)
      const supervisor = spawn(program!, words, { stdio: 'ignore' })
      const startedAt = performance.now()
      // The supervisor is one of them.
      const isRunning = () => processesWith(seconds).length > 3
      if (kill === 0) {
        await eventually(isRunning)
        // Four times what one start takes on this machine now: many kills then meet one that runs.
        maxMs = 4 * (performance.now() - startedAt)
      }
      // A random time: the kill meets each step of the start.
      else await sleep(Math.random() * maxMs)
      if (isRunning()) running++
      supervisor.kill('SIGKILL')
      await once(supervisor, 'exit')
      // The words of what holds a namespace have the directory and not the number.
      await eventually(() => processesWith(seconds).length + processesWith(parent).length === 0)
    }
    assert.ok(running > KILLS / 5, `${running} ran when they were killed`)
    t.diagnostic(`${running} of ${KILLS} ran when they were killed`)
    await removeAbandonedRuns(parent)
    assert.deepEqual(readdirSync(parent), [])
  })

test('a pasta that fails is reported with what to do, and leaves nothing', { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t)
  lab.onHost('chmod 600 /dev/net/tun')
  const [program, ...words] = lab.words(process.execPath, join(import.meta.dirname, 'in-space.ts'), 'failures')
  const { stdout, stderr } = spawnSync(program!, words, { encoding: 'utf8' })
  const sentences = stdout.trim().split('\n')
  assert.equal(sentences.length, 20, stderr)
  for (const sentence of sentences) assert.match(sentence, /chmod 0666 \/dev\/net\/tun/)
})

test('sandboxes of a space share its network, and end with it', { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t)
  const [program, ...words] = lab.words(process.execPath, join(import.meta.dirname, 'in-space.ts'), 'life')
  const { stdout, stderr, status } = spawnSync(program!, words, { encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}\n${stderr}`)
})

test('a pasta that starts nothing is given up', { skip, timeout: 300_000 }, async (t) => {
  const stuck = spawn('sleep', ['1000'], { stdio: 'ignore' })
  t.after(() => stuck.kill('SIGKILL'))
  await new Promise<void>((resolve) => {
    const stop = watchAddresses(() => findInit(stuck.pid!), { addresses: [], networks: [] }, RUN_AS, resolve)
    t.after(stop)
  })
})

/** What users start can be stopped, however they started it. docs/operations.md: Start and stop. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { credentialsOf, newHome, runUntilExit, type ServiceHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { assertWithin } from '../support/time-limits.ts'

const PLAIN = [process.execPath, join(root, 'bin', 'berth.mjs')]
/** A signal to one process. Ctrl-C in a terminal reaches all of them; npx's shell alone waits through a SIGINT. */
const WAYS: { way: string; words: string[]; signal: NodeJS.Signals; code: number | null }[] = [
  { way: 'npm start', words: ['npm', 'start', '--silent'], signal: 'SIGTERM', code: 0 },
  { way: 'npm start', words: ['npm', 'start', '--silent'], signal: 'SIGINT', code: 0 },
  // npm reports how its shell ended; the service itself has no parent by then.
  { way: 'npx berth serve', words: ['npx', 'berth', 'serve'], signal: 'SIGTERM', code: null },
  { way: 'node bin/berth.mjs', words: PLAIN, signal: 'SIGTERM', code: 0 },
  { way: 'node bin/berth.mjs', words: PLAIN, signal: 'SIGINT', code: 0 },
]

function pidOf({ folder }: ServiceHome): number {
  return Number(readFileSync(join(folder, 'berth.db-pid'), 'utf8').split(' ')[0])
}

/** One that has ended but was not yet asked for its code, because its parent is gone, is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync('/proc') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

for (const { way, words, signal, code } of WAYS)
  test(`${signal} to ${way} ends the service at once, in order, and its lock is free (a bound on time)`, {
    timeout: 300_000,
  }, async (t) => {
    const home = await newHome(t, 'sqlite')
    const running = await startService(t, home, {}, words)
    const pid = pidOf(home)
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
    assert.ok(isAlive(pid))
    const stopped = running.kill(signal)
    const tookMs = await eventually(() => !isAlive(pid))
    t.diagnostic(`took ${Math.round(tookMs)} ms`)
    // Half a second on a quiet machine; what waits for requests in flight would take 9 s.
    assertWithin(tookMs, 5000)
    assert.equal(await stopped, code)
    assert.match(running.out(), /"stopping"/)
    assert.equal(existsSync(join(home.folder, 'berth.db-wal')), false, 'the store was closed in order')
    const again = await startService(t, home)
    assert.notEqual(pidOf(home), pid)
    assert.equal(await again.kill('SIGTERM'), 0)
  })

test('a start that finds the store in use names the process and says what to do', async (t) => {
  const home = await newHome(t, 'sqlite')
  const first = await startService(t, home)
  const { code, err } = await runUntilExit(t, home)
  assert.equal(code, 1)
  assert.equal(pidOf(home), first.child.pid)
  assert.ok(err.startsWith(`berth: another process (pid ${first.child.pid}) has ${home.folder}/berth.db-lock: `), err)
  assert.match(err, /stop it first; .*DATABASE_URL=postgres:/)
  assert.ok(credentialsOf(home).token)
})

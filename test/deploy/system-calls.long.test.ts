/** The unit lets Berth do what it does: a real one under strace makes no system call that the unit refuses. docs/deploying.md: Rationale. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { callerAt, credentialsOf, newHome, startService } from '../support/process.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { unitOf } from './recipes.ts'

/** SQLite makes it when it is root, as this test may be and the unit is not: its files get the owner of the store. */
const OF_ROOT = ['fchown']

/** The names of a set of systemd, those of the sets in it too. */
function callsOf(set: string, all: ReadonlyMap<string, string[]>): string[] {
  const names = all.get(set) ?? assert.fail(`systemd knows no ${set}`)
  return names.flatMap((name) => (name.startsWith('@') ? callsOf(name, all) : [name]))
}

/** Every set of system calls that systemd knows. */
function readSets(): Map<string, string[]> {
  const said = execFileSync('systemd-analyze', ['syscall-filter', '--no-pager'], { encoding: 'utf8' })
  const sets = said.split(/^(?=@)/m).map((text) => {
    const [name, ...lines] = text.split('\n').map((line) => line.trim())
    return [name!, lines.filter((line) => /^@?[\w-]+$/.test(line))] as [string, string[]]
  })
  return new Map(sets)
}

/** What the unit lets through: the lines of its filter in order, `~` takes away. */
function allowedByUnit(): Set<string> {
  const sets = readSets()
  const allowed = new Set<string>()
  for (const [name, text] of unitOf('deploy/berth.service')) {
    if (name !== 'SystemCallFilter') continue
    const takesAway = text.startsWith('~')
    for (const word of text.replace('~', '').split(' ')) {
      for (const call of callsOf(word, sets)) takesAway ? allowed.delete(call) : allowed.add(call)
    }
  }
  return allowed
}

const lacks = canRun('strace', '-V')
  ? canRun('systemd-analyze', '--version')
    ? undefined
    : skipReason('systemd-analyze', 'systemd', 'the system calls that the unit lets through')
  : skipReason('strace', 'strace', 'the system calls that the unit lets through')

test('Berth makes no system call that the unit refuses', { skip: lacks ?? false, timeout: 300_000 }, async (t) => {
  const home = await newHome(t, 'sqlite')
  const file = join(home.folder, '..', 'calls')
  const words = ['strace', '-f', '-c', '-S', 'name', '-U', 'name', '-o', file]
  const berth = [process.execPath, '--max-semi-space-size=4', join(root, 'bin', 'berth.mjs')]
  const running = await startService(t, home, {}, [...words, ...berth])
  const call = callerAt(running, credentialsOf(home).token)
  assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
  const variable = { key: 'A', value: 'v', type: 'encrypted', target: ['preview'] }
  assert.equal((await call('POST', '/v10/projects/web/env', variable)).status, 201)
  assert.equal((await call('POST', '/v10/projects/web/domains', { name: 'web.example.com' })).status, 200)
  const operator = callerAt(running, credentialsOf(home).operatorToken)
  assert.equal((await operator('POST', '/operator/v1/backups', {})).status, 202)
  for (const path of ['/healthz', '/readyz', '/sign-in', '/docs'])
    assert.ok((await fetch(running.address + path)).ok, path)
  // strace hands the signal of its own on to what it runs only when it ends on its own: the child is asked.
  const pid = Number(readFileSync(join(home.folder, 'berth.db-pid'), 'utf8').split(' ')[0])
  const closed = new Promise((resolve) => running.child.on('close', resolve))
  process.kill(pid, 'SIGTERM')
  await closed
  const made = readFileSync(file, 'utf8').match(/^\w+$/gm) ?? []
  const calls = made.filter((name) => name !== 'total' && name !== 'syscall')
  assert.ok(calls.includes('execve') && calls.length > 30, calls.join())
  const allowed = allowedByUnit()
  assert.deepEqual(
    calls.filter((name) => !allowed.has(name) && !OF_ROOT.includes(name)),
    [],
  )
})

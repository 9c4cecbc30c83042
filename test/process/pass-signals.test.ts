/** A process that starts the program in its place passes signals on, each of them once. docs/runner.md: Stop. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const { passSignals } = await import(join(root, 'bin', 'pass-signals.mjs'))

/** What the child gets of these signals, and how the process ends after it. */
function passed(hasTerminal: boolean, signals: string[], exit: [number | null, string | null]) {
  const [sent, codes]: [string[], number[]] = [[], []]
  const child = Object.assign(new EventEmitter(), { kill: (signal: string) => void sent.push(signal) })
  const own = Object.assign(new EventEmitter(), { exit: (code: number) => void codes.push(code) })
  passSignals(child, { process: own, hasTerminal })
  for (const signal of signals) own.emit(signal)
  child.emit('exit', ...exit)
  return [sent, codes]
}

test('Ctrl-C reaches a child once: the terminal has sent it', () => {
  const all = ['SIGINT', 'SIGTERM', 'SIGHUP']
  assert.deepEqual(passed(true, all, [0, null]), [['SIGTERM', 'SIGHUP'], [0]])
  assert.deepEqual(passed(false, all, [null, 'SIGKILL']), [all, [128]])
  assert.deepEqual(passed(false, [], [3, null]), [[], [3]])
})

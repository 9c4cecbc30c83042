/** Runs commands one after another, and says at the end which failed and what they said last. Used by scripts/verify.ts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'

export type Part = { name: string; words: [string, ...string[]]; env?: Record<string, string> }

type Failure = { name: string; how: string; why: string }

const root = join(import.meta.dirname, '..', '..')
/** Lines that tell why a part failed: a failed test, a broken promise, a step of the check, or an error. */
const TELLS = /✖|^not ok|\bBROKEN\b|\bFAILED\b|^failed:|\b[Ee]rror\b|Error:|^\s+[+-] |took \d+ s:/
const LINES_OF_A_FAILURE = 40

/**
 * Runs the parts one after another, each whatever came of the others, and prints what they say. Gives the exit code: 1 when one failed.
 * Whoever reads only the end of a long log has to learn why: after the last part stand what told of the failures, and its summary again.
 * A signal ends the part that runs, and no other begins.
 */
export async function runParts(
  parts: readonly Part[],
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<0 | 1> {
  const began = performance.now()
  const failures: Failure[] = []
  let running: ChildProcess | undefined
  let stopped: NodeJS.Signals | undefined
  let said = ''
  const stop = (signal: NodeJS.Signals) => {
    stopped = signal
    running?.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, stop)

  for (const { name, words, env } of parts) {
    if (stopped !== undefined) {
      failures.push({ name, how: `was not begun: ${stopped}`, why: '' })
      continue
    }
    const since = performance.now()
    print(`\n== ${name} begins at ${minutes(since - began)}\n`)
    said = ''
    running = spawn(words[0], words.slice(1), {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    for (const stream of [running.stdout!, running.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
        print(text)
      })
    const how = await endOf(running)
    running = undefined
    print(`\n== ${name} ${how === '0' ? 'passed' : `FAILED (${how})`} after ${minutes(performance.now() - since)}\n`)
    if (how !== '0') failures.push({ name, how, why: whyFailed(said) })
  }
  for (const signal of signals) process.off(signal, stop)
  if (failures.length === 0) {
    print(summaryOf(said))
    return 0
  }
  print(`\nfailed: ${failures.map(({ name }) => name).join(', ')}\n`)
  for (const { name, how, why } of failures) print(`\n== why ${name} failed (${how}):\n${why}`)
  print(summaryOf(said))
  return 1
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(message))
    child.on('close', (code, signal) => resolve(signal ?? String(code)))
  })
}

/** What tells of the failure, and the last lines. */
function whyFailed(said: string): string {
  const lines = said.trimEnd().split('\n')
  const last = lines.slice(-10)
  const telling = lines.slice(0, -10).filter((line) => TELLS.test(line) && !/^\s*✔/.test(line))
  return `${[...telling.slice(0, LINES_OF_A_FAILURE), '…', ...last].map((line) => line.slice(0, 300)).join('\n')}\n`
}

/** The counts with which node's test runner closes; nothing where there are none. */
function summaryOf(said: string): string {
  const lines = said.split('\n').filter((line) => /^ℹ \w+ [\d.]+$/.test(line))
  return lines.length === 0 ? '' : `\n${lines.slice(-8).join('\n')}\n`
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

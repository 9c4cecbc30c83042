/** Runs the parts of `npm run verify` one after another and keeps the result of each. docs/testing.md: Test suites. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** `minutes`: how long it may take; what hangs fails alone, and the others still report what they found. */
export type Part = { name: string; words: [string, ...string[]]; env?: Record<string, string>; minutes?: number }

/** `how`: '0', an exit code, a signal, or why it could not run. `last`: its last lines, above them those that say why it failed. */
export type Result = { name: string; how: string; seconds: number; at: string; last: string }

/** `folder`: where results and logs are kept. `resume`: parts that passed there are not run again. */
export type Keeps = { folder: string; resume: boolean }

const root = join(import.meta.dirname, '..', '..')
/** Lines that say why a part failed: a failed test, a broken promise, a step of the check, or an error. */
const TELLS = /✖|^not ok|\bBROKEN\b|\bFAILED\b|^failed:|^flaky:|\b[Ee]rror\b|Error:|^\s+[+-] |took \d+ s:/
const LINES_OF_A_FAILURE = 40
const LAST_LINES = 10
/** What was asked to end and did not is killed. */
const TO_END_MS = 20_000

/**
 * Runs the parts, each whatever came of the others, and prints what they say; then a table of all, and why the failed ones failed. Gives the
 * exit code: 1 when one failed or did not run. A signal ends the part that runs with all that it started, and no other begins: what passed
 * before is kept.
 */
export async function runParts(
  parts: readonly Part[],
  { folder, resume }: Keeps,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<0 | 1> {
  mkdirSync(folder, { recursive: true })
  const results: Result[] = []
  let running: ChildProcess | undefined
  let stopped: NodeJS.Signals | undefined
  const stop = (signal: NodeJS.Signals) => {
    stopped = signal
    if (running !== undefined) end(running, signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, stop)

  for (const part of parts) {
    const kept = resume ? readResult(folder, part.name) : undefined
    if (kept?.how === '0') {
      print(`\n== ${part.name} passed at ${kept.at}\n`)
      results.push(kept)
      continue
    }
    if (stopped !== undefined) {
      results.push({ name: part.name, how: `not begun: ${stopped}`, seconds: 0, at: '', last: '' })
      continue
    }
    print(`\n== ${part.name} begins\n`)
    const { how, seconds, said } = await runPart(part, folder, print, (child) => {
      running = child
    })
    running = undefined
    const last = how === '0' ? said.trimEnd().split('\n').slice(-LAST_LINES).join('\n') : whyFailed(said)
    const result = { name: part.name, how, seconds, at: new Date().toISOString(), last }
    // One that a signal ended says nothing of the commit.
    if (stopped === undefined) keepResult(folder, result)
    results.push(result)
    print(`\n== ${part.name} ${toldOf(result)} after ${minutesOf(seconds)}\n`)
  }
  for (const signal of signals) process.off(signal, stop)
  const failed = results.filter(({ how }) => how !== '0')
  for (const { name, how, last } of failed) if (last !== '') print(`\n== why ${name} failed (${how}):\n${last}\n`)
  print(`\n${tableOf(results)}${folder}\n`)
  return failed.length === 0 ? 0 : 1
}

async function runPart(
  { name, words, env, minutes = Number.POSITIVE_INFINITY }: Part,
  folder: string,
  print: (text: string) => void,
  onStart: (child: ChildProcess) => void,
): Promise<{ how: string; seconds: number; said: string }> {
  const since = performance.now()
  const log = createWriteStream(join(folder, `${name}.log`))
  let said = ''
  const child = spawn(words[0], words.slice(1), {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: what it started ends with it.
    detached: true,
    env: { ...process.env, ...env },
  })
  onStart(child)
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      log.write(text)
      print(text)
    })
  const how = await endWithin(child, minutes)
  await new Promise<void>((resolve) => log.end(resolve))
  return { how, seconds: Math.round((performance.now() - since) / 1000), said }
}

/** Ends a part that exceeds its time limit, and reports it. */
async function endWithin(child: ChildProcess, most: number): Promise<string> {
  let isLate = false
  const late = Number.isFinite(most)
    ? setTimeout(() => {
        isLate = true
        end(child, 'SIGTERM')
      }, most * 60_000)
    : undefined
  const how = await endOf(child)
  clearTimeout(late)
  return isLate ? `took longer than ${most} minutes` : how
}

/** Ends a part with all that it started. */
function end({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  const tell = (signal: NodeJS.Signals) => {
    try {
      if (pid !== undefined) process.kill(-pid, signal)
    } catch {
      // It has ended.
    }
  }
  tell(signal)
  setTimeout(() => tell('SIGKILL'), TO_END_MS).unref()
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve(message))
    child.on('close', (code, signal) => resolve(signal ?? String(code)))
  })
}

function readResult(folder: string, name: string): Result | undefined {
  const file = join(folder, `${name}.json`)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Result) : undefined
}

/** Whole or not at all: a run may be ended at any time. */
function keepResult(folder: string, result: Result): void {
  const file = join(folder, `${result.name}.json`)
  writeFileSync(`${file}.draft`, JSON.stringify(result))
  renameSync(`${file}.draft`, file)
}

/** The lines about the failure, and the last lines. */
function whyFailed(said: string): string {
  const lines = said.trimEnd().split('\n')
  const last = lines.slice(-LAST_LINES)
  const telling = lines.slice(0, -LAST_LINES).filter((line) => TELLS.test(line) && !/^\s*✔/.test(line))
  return [...telling.slice(0, LINES_OF_A_FAILURE), '…', ...last].map((line) => line.slice(0, 300)).join('\n')
}

function tableOf(results: readonly Result[]): string {
  const rows = results.map((result) => [result.name, minutesOf(result.seconds), toldOf(result), result.at])
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]!.length)))
  const lines = rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '))
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

function toldOf({ how }: Result): string {
  return how === '0' ? 'passed' : `FAILED (${how})`
}

function minutesOf(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

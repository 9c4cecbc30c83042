/** Runs commands in lanes beside each other, and prints what each said as a whole and in order. Used by scripts/ci.ts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Part = { name: string; words: [string, ...string[]]; env?: Record<string, string> }
/** Parts that run one after another. */
export type Lane = readonly Part[]

type Ended = { failed: boolean; verdict: string; file: string }

const root = join(import.meta.dirname, '..', '..')

/**
 * Runs the stages one after another, the lanes of a stage beside each other, and every part whatever came of the others. Prints
 * the parts in `order`, each as soon as it and those before it have ended; above the last one stand those that failed. Gives the exit code.
 * A signal ends the parts that run, and what they said so far is printed.
 */
export async function runParts(
  stages: readonly (readonly Lane[])[],
  order: readonly Part[],
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<0 | 1> {
  const scratch = mkdtempSync(join(tmpdir(), 'berth-ci-'))
  const running = new Set<ChildProcess>()
  const ended = new Map<Part, Ended>()
  const began = performance.now()
  const unprinted = [...order]
  let stopped: NodeJS.Signals | undefined
  const stop = (signal: NodeJS.Signals) => {
    stopped = signal
    for (const child of running) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, stop)

  const runOne = async (part: Part) => {
    if (stopped !== undefined) {
      ended.set(part, { failed: true, verdict: `was not begun: ${stopped}`, file: '' })
      return
    }
    const file = join(scratch, String(order.indexOf(part)))
    const log = openSync(file, 'w')
    const since = performance.now()
    // Without a word for minutes a run seems to hang.
    print(`${minutes(since - began)} ${part.name} begins\n`)
    const child = spawn(part.words[0], part.words.slice(1), {
      cwd: root,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...part.env },
    })
    running.add(child)
    const how = await new Promise<string>((resolve) => {
      child.on('error', ({ message }) => resolve(message))
      child.on('exit', (code, signal) => resolve(signal ?? String(code)))
    })
    running.delete(child)
    closeSync(log)
    const failed = how !== '0'
    const verdict = `${failed ? `FAILED (${how})` : 'passed'} after ${minutes(performance.now() - since)}`
    ended.set(part, { failed, verdict, file })
    printEnded()
  }

  const printEnded = () => {
    for (let next = unprinted[0]; next !== undefined; next = unprinted[0]) {
      const end = ended.get(next)
      if (end === undefined) return
      unprinted.shift()
      const failed = [...ended].filter((one) => one[1].failed).map(([{ name }]) => name)
      if (unprinted.length === 0 && failed.length > 0) print(`\nfailed: ${failed.join(', ')}\n`)
      print(`\n== ${next.name}: ${end.verdict}\n${end.file === '' ? '' : readFileSync(end.file, 'utf8')}`)
    }
  }

  for (const lanes of stages) {
    await Promise.all(
      lanes.map(async (lane) => {
        for (const part of lane) await runOne(part)
      }),
    )
  }
  printEnded()
  for (const signal of signals) process.off(signal, stop)
  rmSync(scratch, { recursive: true })
  return [...ended.values()].some(({ failed }) => failed) ? 1 : 0
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

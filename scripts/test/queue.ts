/**
 * The test files of a run, as a queue in a folder: each worker takes the next free file, so that all end together
 * whatever a file takes, and a process and its compiled code serve many files.
 */
import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The variable with the path of the queue. */
export const QUEUE = 'BERTH_TEST_QUEUE'
/** What a file of `npm test` may take; a longer one is named at the end of the run, and fails nothing. */
export const BUDGET_S = 20

/** Each of these has a command of its own. docs/testing.md. */
const ELSEWHERE = ['test/attacks/**', 'test/clients/**', 'test/faults/**']
const LONG = 'test/**/*.long.test.ts'

type Took = { file: string; seconds: number }

/** What a worker says of itself at its end. */
export type Ended = {
  /** The file that it took last. */
  file: string
  code: number
  /** What set the code, where it was not a test that failed. */
  because: string[]
  /** Errors that no test awaited, with the file that ran then. */
  errors: { file: string; error: string }[]
}

/** The files of `npm test`, or the long ones, which `npm run test:long` runs: each test file is one or the other. */
export function filesOf(root: string, long: boolean): string[] {
  if (long) return globSync(LONG, { cwd: root, exclude: ELSEWHERE })
  return globSync('test/**/*.test.ts', { cwd: root, exclude: [...ELSEWHERE, LONG] })
}

/** What loads the published SDKs: thousands of modules and a third of a gigabyte, for one process and not for each. */
const LOADS_SDK = /(?:from |import\()'(?:sdk-|.*newest-sdk)/

/**
 * Writes the queue, the largest files first, and gives the files of `count` workers, or of fewer where there are fewer test files.
 * Files that load the SDKs are one entry: one process takes them all.
 */
export function fillQueue(folder: string, root: string, files: readonly string[], count: number): string[] {
  const all = files.map((file) => resolve(root, file))
  const loads = Map.groupBy(all, (file) => LOADS_SDK.test(readFileSync(file, 'utf8')))
  const alone = (loads.get(false) ?? []).map((file) => [file])
  const size = (entry: string[]) => entry.reduce((sum, file) => sum + statSync(file).size, 0)
  const together = [loads.get(true) ?? []].filter(({ length }) => length > 0)
  const queue = [...together, ...alone].toSorted((a, b) => size(b) - size(a))
  writeFileSync(join(folder, 'files.json'), JSON.stringify({ root, queue }))
  const worker = pathToFileURL(join(import.meta.dirname, 'worker.ts'))
  return Array.from({ length: Math.min(count, queue.length) }, (_, at) => {
    const file = join(folder, `worker-${at + 1}.mjs`)
    writeFileSync(file, `await import('${worker}')\n`)
    return file
  })
}

/** The files that fall to the worker that asks, one after another; after each, how long it took is noted. */
export function* takeFiles(folder: string, worker: string): Generator<{ file: string; name: string }> {
  const { root, queue } = readQueue(folder)
  for (const [at, entry] of queue.entries()) {
    if (!take(join(folder, `taken-${at}`), worker)) continue
    for (const [part, file] of entry.entries()) {
      const since = performance.now()
      const name = relative(root, file)
      yield { file, name }
      const took: Took = { file: name, seconds: (performance.now() - since) / 1000 }
      writeFileSync(join(folder, `took-${at}-${part}`), JSON.stringify(took))
    }
  }
}

/** The files of the queue, named from the root. */
export function filesOfQueue(folder: string): string[] {
  if (!existsSync(join(folder, 'files.json'))) return []
  const { root, queue } = readQueue(folder)
  return queue.flat().map((file) => relative(root, file))
}

/** How long each file took so far, the longest first. */
export function tookOf(folder: string): Took[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.startsWith('took-'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Took)
    .toSorted((a, b) => b.seconds - a.seconds)
}

/** A worker keeps what it says of itself at its end. */
export function noteEnd(folder: string, worker: string, ended: Ended): void {
  writeFileSync(endOf(folder, worker), JSON.stringify(ended))
}

/** What a worker said of itself at its end; nothing where a signal ended it. */
export function readEnd(folder: string, worker: string): Ended | undefined {
  const file = endOf(folder, worker)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Ended) : undefined
}

/** The files that a worker began and did not end. */
export function unendedOf(folder: string, worker: string): string[] {
  const { root, queue } = readQueue(folder)
  return queue.flatMap((entry, at) => {
    const mark = join(folder, `taken-${at}`)
    if (!existsSync(mark) || readFileSync(mark, 'utf8') !== worker) return []
    const first = entry.find((_, part) => !existsSync(join(folder, `took-${at}-${part}`)))
    return first === undefined ? [] : [relative(root, first)]
  })
}

function endOf(folder: string, worker: string): string {
  return join(folder, `ended-${worker}`)
}

/** The folder that the files of the queue are named from. */
export function rootOf(folder: string): string {
  return readQueue(folder).root
}

function readQueue(folder: string): { root: string; queue: string[][] } {
  return JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8'))
}

function take(mark: string, worker: string): boolean {
  try {
    writeFileSync(mark, worker, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

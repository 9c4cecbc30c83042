/**
 * The test files of a run, as a queue in a folder: each worker takes the next file that nobody took, so that all end together
 * whatever a file takes, and a process and its compiled code serve many files.
 */
import { existsSync, globSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The variable that tells a worker where its queue is. */
export const QUEUE = 'BERTH_TEST_QUEUE'
/** What a file of `npm test` may take; a longer one is named at the end of the run. */
export const BUDGET_S = 20
/** A file that takes longer than this, and longer than half of the whole run, ends the run with a failure: no busy machine alone makes it. */
export const REFUSED_S = 5 * BUDGET_S

/** Each of these has a command of its own. docs/testing.md. */
const ELSEWHERE = ['test/attacks/**', 'test/clients/**', 'test/faults/**']
const LONG = 'test/**/*.long.test.ts'

type Took = { file: string; seconds: number }

/** The files of `npm test`, or the long ones, which `npm run test:long` runs: each test file is one or the other. */
export function filesOf(root: string, long: boolean): string[] {
  if (long) return globSync(LONG, { cwd: root, exclude: ELSEWHERE })
  return globSync('test/**/*.test.ts', { cwd: root, exclude: [...ELSEWHERE, LONG] })
}

/** Writes the queue, the largest files first, and gives the files of `count` workers, or of fewer where there are fewer test files. */
export function fillQueue(folder: string, root: string, files: readonly string[], count: number): string[] {
  const size = (file: string) => statSync(resolve(root, file)).size
  const queue = files.map((file) => resolve(root, file)).toSorted((a, b) => size(b) - size(a))
  writeFileSync(join(folder, 'files.json'), JSON.stringify({ root, queue }))
  const worker = pathToFileURL(join(import.meta.dirname, 'worker.ts'))
  return Array.from({ length: Math.min(count, files.length) }, (_, at) => {
    const file = join(folder, `worker-${at + 1}.mjs`)
    writeFileSync(file, `await import('${worker}')\n`)
    return file
  })
}

/** The files that fall to the worker that asks, one after another; after each, how long it took is noted. */
export function* takeFiles(folder: string): Generator<{ file: string; name: string }> {
  const { root, queue } = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as {
    root: string
    queue: string[]
  }
  for (const [at, file] of queue.entries()) {
    if (!take(join(folder, `taken-${at}`))) continue
    const since = performance.now()
    const name = relative(root, file)
    yield { file, name }
    writeFileSync(
      join(folder, `took-${at}`),
      JSON.stringify({ file: name, seconds: (performance.now() - since) / 1000 }),
    )
  }
}

/** How long each file took so far, the longest first. */
export function tookOf(folder: string): Took[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.startsWith('took-'))
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Took)
    .toSorted((a, b) => b.seconds - a.seconds)
}

function take(mark: string): boolean {
  try {
    openSync(mark, 'wx')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

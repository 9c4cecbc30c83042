/** One of the processes of a run: takes test files from the queue and runs them, one after another. */
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { COVERAGE, openRecording } from './coverage/record.ts'
import { type Ended, noteEnd, QUEUE, rootOf, takeFiles } from './queue.ts'

const folder = process.env[QUEUE]!
/** So long a process may take to end once its files have run. */
const LEFT_OPEN_MS = 10_000
const worker = basename(process.argv[1]!)

// The runner counts a process that ends badly as a failed test, and does not say what of: so the worker does, and report.ts shows it.
const ended: Ended = { file: '', code: 0, because: [], errors: [] }
for (const event of ['uncaughtExceptionMonitor', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    // What the runner does not turn into a rejection of its own comes by one of the two alone.
    ended.errors.push({ file: ended.file, error: inspect(error) })
  })
}
process.on('exit', (code) => {
  // The stack shows where the process was ended explicitly.
  const { stack = '' } = new Error('the process was ended')
  if (/\bprocess\.(reallyE|e)xit\b/.test(stack)) ended.because.push(stack)
  noteEnd(folder, worker, { ...ended, code })
})

/** A backup that a service makes within the process keeps what it writes to itself, and the next file starts a PostgreSQL of another user. */
const umask = process.umask()
/** With `npm test -- --coverage` alone: it counts for the coverage map. docs/testing.md. */
const map = process.env[COVERAGE]
const recording = map === undefined ? undefined : await openRecording(rootOf(folder), map)
let files = 0
for (const { file, name } of takeFiles(folder, worker)) {
  ended.file = name
  const before = process.exitCode
  process.umask(umask)
  recording?.begin()
  const since = performance.now()
  // A suite for each file: what a file opens for its tests is closed after them, and not before or after those of another.
  await describe(name, async () => {
    try {
      await import(pathToFileURL(file).href)
    } catch (error) {
      test(name, () => {
        throw error
      })
    }
  })
  recording?.end(name, (performance.now() - since) / 1000)
  if (process.exitCode !== before) ended.because.push(`${name} left process.exitCode at ${process.exitCode}`)
  files++
}
// What a test left open would hold the process, and with it the whole run.
setTimeout(() => {
  const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap' && name !== 'Timeout')
  console.error(`${worker} has run its files, and is ended with something open that they left: ${open.join(', ')}`)
  process.exit()
}, LEFT_OPEN_MS).unref()
// The runner counts a process without any line as a test.
if (files === 0) describe('no file was left for this process', () => {})

/** One of the processes of a run: takes test files from the queue and runs them, one after another. */
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { type Ended, noteEnd, QUEUE, takeFiles } from './queue.ts'

const folder = process.env[QUEUE]!
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
  // Whoever ended the process by hand is on the stack.
  const { stack = '' } = new Error('the process was ended')
  if (/\bprocess\.(reallyE|e)xit\b/.test(stack)) ended.because.push(stack)
  noteEnd(folder, worker, { ...ended, code })
})

/** A backup that a service makes within the process keeps what it writes to itself, and the next file starts a PostgreSQL of another user. */
const umask = process.umask()
let files = 0
for (const { file, name } of takeFiles(folder, worker)) {
  ended.file = name
  const before = process.exitCode
  process.umask(umask)
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
  if (process.exitCode !== before) ended.because.push(`${name} left process.exitCode at ${process.exitCode}`)
  files++
}
// The runner counts a process without any line as a test.
if (files === 0) describe('no file was left for this process', () => {})

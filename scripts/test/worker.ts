/** One of the processes of a run: takes test files from the queue and runs them, one after another. */
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { QUEUE, takeFiles } from './queue.ts'

let files = 0
for (const { file, name } of takeFiles(process.env[QUEUE]!)) {
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
  files++
}
// The runner counts a process without any line as a test.
if (files === 0) describe('no file was left for this process', () => {})

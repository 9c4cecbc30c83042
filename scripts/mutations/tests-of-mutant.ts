/**
 * The process that runs test files over one mutant, one at a time, and reports to its parent each file that it starts and a test that
 * fails: the parent ends it then. `BERTH_MUTATION`: the folder that has the mutant, and the files.
 */
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

export type Order = { root: string; tests: string[] }
/** What the process says. `file`: the path of the file that holds the test. `cannotLoad`: the service cannot even be loaded. */
export type Word = { begins: string } | { fails: string; file: string } | { cannotLoad: string }

const { root, tests } = JSON.parse(process.env.BERTH_MUTATION!) as Order
const urlOf = (file: string) => pathToFileURL(join(root, file)).href
const say = (word: Word) => void process.send!(word)

try {
  await import(urlOf('src/service.ts'))
} catch (error) {
  say({ cannotLoad: String(error) })
  process.exit(1)
}
const umask = process.umask()
for (const file of tests) {
  process.umask(umask)
  say({ begins: file })
  await describe(file, async () => {
    try {
      await import(urlOf(file))
    } catch (error) {
      test(file, () => {
        throw error
      })
    }
  })
}

/** Copies and checks whole SQLite files in a thread with its own connection, while the service runs. */
import { Worker } from 'node:worker_threads'

/** The result of a check: corrupt pages, dangling references, and row counts per table. */
export type Inspection = { faults: string[]; strays: boolean; rows: Record<string, number> }

/** The code of the threads. It is text, because a bundle has no separate file for it. */
const OPEN = `
  const { DatabaseSync } = require('node:sqlite')
  const { parentPort, workerData: { file, target } } = require('node:worker_threads')
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
`
const COPY = `${OPEN}
  database.prepare('VACUUM INTO ?').run(target)
  database.close()
`
const INSPECT = `${OPEN}
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
  const all = (text) => database.prepare(text).all()
  const found = all('PRAGMA integrity_check(5)').map((row) => row.integrity_check)
  const names = all("select name from sqlite_master where type = 'table' order by name").map((row) => row.name)
  const tables = names.filter((name) => !name.startsWith('sqlite_'))
  parentPort.postMessage({
    faults: found.filter((line) => line !== 'ok'),
    strays: all('PRAGMA foreign_key_check').length > 0,
    rows: Object.fromEntries(tables.map((name) => [name, all('select count(*) as count from "' + name + '"')[0].count])),
  })
  database.close()
`
const QUICK_CHECK = `${OPEN}
  parentPort.postMessage(database.prepare('PRAGMA quick_check(1)').get().quick_check)
  database.close()
`

/** Copies with `VACUUM INTO`: one compact snapshot while writes continue (docs/spec/reliability.md 2c). `target` must not exist. */
export async function vacuumInto(file: string, target: string): Promise<void> {
  await runThread(COPY, { file, target })
}

/** Reads every page of a file that is not in use. Throws SQLite's error where it cannot be opened. */
export async function inspectFile(file: string): Promise<Inspection> {
  return (await runThread(INSPECT, { file })) as Inspection
}

/** Returns the first corruption in the pages of a file that may be in use, or undefined. Throws SQLite's error, and the reason of `stop`. */
export async function findCorruption(file: string, stop: AbortSignal): Promise<string | undefined> {
  const verdict = (await runThread(QUICK_CHECK, { file }, stop)) as string
  return verdict === 'ok' ? undefined : verdict.split('\n').at(-1)
}

/** Returns the message that the thread posted. `stop` ends the thread. */
function runThread(
  text: string,
  workerData: { file: string; target?: string },
  stop = new AbortController().signal,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(text, { eval: true, workerData })
    const end = () => {
      reject(stop.reason)
      void worker.terminate()
    }
    if (stop.aborted) end()
    stop.addEventListener('abort', end, { once: true })
    let answer: unknown
    worker.on('message', (message) => {
      answer = message
    })
    worker.on('error', reject)
    worker.on('exit', (code) =>
      code === 0 ? resolve(answer) : reject(new Error(`the thread that read ${workerData.file} ended with ${code}`)),
    )
  })
}

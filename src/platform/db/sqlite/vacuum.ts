/** What reads a whole file of the embedded engine, in a thread of its own on a connection of its own, while the service goes on: a copy, and a check. */
import { Worker } from 'node:worker_threads'

/** What a check of a file found: what is wrong with its pages, whether rows refer to rows that are not there, and the rows of each table. */
export type Inspection = { faults: string[]; strays: boolean; rows: Record<string, number> }

/** What the threads run. It is text, because a bundle has no file of its own for it. */
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

/** Copies with `VACUUM INTO`: one snapshot, compact, and writers go on meanwhile (docs/spec/reliability.md 2c). `target` must not be there. */
export async function vacuumInto(file: string, target: string): Promise<void> {
  await runThread(COPY, { file, target })
}

/** Reads every page of a file that nobody writes. Throws what SQLite says where it cannot even be opened. */
export async function inspectFile(file: string): Promise<Inspection> {
  return (await runThread(INSPECT, { file })) as Inspection
}

/** The first thing that is wrong with the pages of a file that a service may write meanwhile; undefined where nothing is. Throws what SQLite says. */
export async function findCorruption(file: string): Promise<string | undefined> {
  const verdict = (await runThread(QUICK_CHECK, { file })) as string
  return verdict === 'ok' ? undefined : verdict.split('\n').at(-1)
}

/** Gives what the thread posted. */
function runThread(text: string, workerData: { file: string; target?: string }): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(text, { eval: true, workerData })
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

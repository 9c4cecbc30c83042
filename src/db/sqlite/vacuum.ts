/** A consistent copy of an embedded store, made in a thread of its own on a connection of its own, while the service writes. */
import { Worker } from 'node:worker_threads'

/** What the thread runs. It is text, because a bundle has no file of its own for it. */
const COPY = `
  const { DatabaseSync } = require('node:sqlite')
  const { file, target } = require('node:worker_threads').workerData
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  database.prepare('VACUUM INTO ?').run(target)
  database.close()
`

/** Copies with `VACUUM INTO`: one snapshot, compact, and writers go on meanwhile (docs/spec/reliability.md 2c). `target` must not be there. */
export function vacuumInto(file: string, target: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(COPY, { eval: true, workerData: { file, target } })
    worker.on('error', reject)
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the copy ended with ${code}`))))
  })
}

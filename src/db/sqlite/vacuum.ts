/** A consistent copy of an embedded store, made in a thread of its own on a connection of its own, while the service writes. */
import { DatabaseSync } from 'node:sqlite'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

type Copy = { file: string; target: string }

/** Copies with `VACUUM INTO`: one snapshot, compact, and writers go on meanwhile (docs/spec/reliability.md 2c). `target` must not be there. */
export function vacuumInto(file: string, target: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { file, target } satisfies Copy })
    worker.on('error', reject)
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the copy ended with ${code}`))))
  })
}

if (!isMainThread && workerData?.target !== undefined) {
  const { file, target } = workerData as Copy
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  database.prepare('VACUUM INTO ?').run(target)
  database.close()
}

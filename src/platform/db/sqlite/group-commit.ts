/**
 * Group commit: queued writers run in sequence, each in a savepoint, and one COMMIT (one fsync) makes them durable together. All responses wait for
 * it, also refusals, so that none depends on data that may be lost. Accounts are served round-robin within a short group; the rest waits for the next
 * commit.
 */
import { createFairQueue } from '../../fairness/fair-queue.ts'

/** A group that ran this long is committed, and new requests are read before the next one. */
const MAX_GROUP_MS = 20

/** The interface of the only write connection. */
export type Writer = {
  /** Called synchronously before a commit. */
  beforeCommit(): void
  /** Called after a commit. Throws when the committed data would not survive a restart. */
  afterCommit(): void
  exec(sql: 'BEGIN IMMEDIATE' | 'COMMIT' | 'ROLLBACK' | 'SAVEPOINT job' | 'RELEASE job' | 'ROLLBACK TO job'): void
  inTransaction(): boolean
}

type Job = { work: () => Promise<unknown>; settle: (outcome: Outcome) => void }
type Outcome = { value: unknown } | { error: unknown }

/** Observers of commits. `onFailed` may end the process. */
type Listeners = { onDone: (writes: number, ms: number) => void; onFailed: (error: unknown) => void }

/** Creates the write queue. `limit`: the most jobs per commit. Each job has an owner for round-robin. */
export function groupCommit(writer: Writer, limit: number, listeners: Listeners) {
  const queue = createFairQueue<Job>()
  let draining = false

  const drain = async (): Promise<void> => {
    const group = [queue.shift()!]
    let outcomes: Outcome[] = []
    const began = performance.now()
    try {
      writer.exec('BEGIN IMMEDIATE')
      for (const job of group) {
        outcomes.push(await runInSavepoint(writer, job))
        const hasRoom = group.length < limit && performance.now() - began < MAX_GROUP_MS
        if (hasRoom && queue.size() > 0) group.push(queue.shift()!)
      }
      commit(writer, group.length, listeners)
    } catch (error) {
      if (writer.inTransaction()) writer.exec('ROLLBACK')
      outcomes = group.map(() => ({ error }))
    }
    for (const [at, job] of group.entries()) job.settle(outcomes[at]!)
    if (queue.size() > 0) setImmediate(drain)
    else draining = false
  }

  return <T>(work: () => Promise<T>, owner = ''): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      queue.push(owner, { work, settle: (end) => ('error' in end ? reject(end.error) : resolve(end.value as T)) })
      if (draining) return
      draining = true
      setImmediate(drain)
    })
}

/** Runs a job and rolls back only it if it throws. An error that ends the whole transaction (a full disk) is rethrown and fails the group. */
async function runInSavepoint(writer: Writer, job: Job): Promise<Outcome> {
  writer.exec('SAVEPOINT job')
  try {
    const value = await job.work()
    writer.exec('RELEASE job')
    return { value }
  } catch (error) {
    if (!writer.inTransaction()) throw error
    writer.exec('ROLLBACK TO job')
    writer.exec('RELEASE job')
    return { error }
  }
}

function commit(writer: Writer, writes: number, { onDone, onFailed }: Listeners): void {
  writer.beforeCommit()
  const before = performance.now()
  try {
    writer.exec('COMMIT')
    writer.afterCommit()
  } catch (error) {
    onFailed(error)
    throw error
  }
  onDone(writes, performance.now() - before)
}

/**
 * Group commit: writers queue, all that wait run one after another, each in a savepoint, and one COMMIT (one fsync) makes
 * them durable together. Nobody is answered before it, refused or not, so that no answer rests on what may be lost. Owners take
 * turns, and what does not fit into a short while waits for the next commit: nobody waits for all of what another one brought.
 */
import { createFairQueue } from '../../fairness/fair-queue.ts'

/** A group that has run for so long is committed, and what came meanwhile is read before the next one begins. */
const MAX_GROUP_MS = 20

/** What the queue needs of the one writing connection. */
export type Writer = {
  /** Called right before a commit, in the same turn. */
  beforeCommit(): void
  /** Called right after one. Throws when what was committed will not be found by the next start. */
  afterCommit(): void
  exec(sql: 'BEGIN IMMEDIATE' | 'COMMIT' | 'ROLLBACK' | 'SAVEPOINT job' | 'RELEASE job' | 'ROLLBACK TO job'): void
  inTransaction(): boolean
}

type Job = { work: () => Promise<unknown>; settle: (outcome: Outcome) => void }
type Outcome = { value: unknown } | { error: unknown }

/** What is heard of commits. `onFailed` may end the process. */
type Listeners = { onDone: (writes: number, ms: number) => void; onFailed: (error: unknown) => void }

/** `limit`: the most jobs that share a commit; those behind them wait for the next. Each job is of an owner, as the line knows it. */
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

/** A job that throws is undone alone. A fault that ends the whole transaction (a full disk) is thrown on and fails the group. */
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

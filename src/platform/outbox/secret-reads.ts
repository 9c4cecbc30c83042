/**
 * Audit entries of responses with decrypted values. A read must not be a write, so entries are buffered and flushed every 250 ms. docs/operations.md:
 * Audit log.
 */
import type { Logger } from 'pino'
import type { Metrics } from '../../metrics.ts'
import type { Caller } from '../access/who.ts'
import type { Clock } from '../base/clock.ts'
import type { Db } from '../db/db.ts'
import { type AuditEntry, appendAuditEntries } from './audit-chain.ts'
import { projectIdOf } from './audit-subject.ts'

/** Limits of the buffer while the database accepts no writes, in all and per account. Further entries are dropped and counted. */
const MAX_WAITING = 20_000
const MAX_OF_ACCOUNT = 5000
/** Entries per transaction: some milliseconds on SQLite. */
const SLICE = 500

export type SecretReads = {
  /** Records a response with decrypted values. */
  add(entry: AuditEntry): void
  /** Flushes the buffer after the flushes in progress, or throws and keeps what was not written. */
  write(): Promise<void>
  /** Drops the rest of the buffer at shutdown; it is counted and logged. */
  end(): void
}

type Opened = { db: Db; clock: Clock; log: Logger; metrics: Metrics }

/** Creates an empty buffer. */
export function createSecretReads({ db, clock, log, metrics }: Opened): SecretReads {
  const dropped = metrics.counter('berth_audit_lines_dropped_total')
  const waiting: AuditEntry[] = []
  const ofAccount = new Map<string | null, number>()
  let full = false
  let running = Promise.resolve()
  const count = ({ account_id }: AuditEntry, more: number) => {
    const sum = (ofAccount.get(account_id) ?? 0) + more
    if (sum === 0) ofAccount.delete(account_id)
    else ofAccount.set(account_id, sum)
  }
  const flush = async () => {
    // Only the entries of now: later ones are written with the next flush.
    for (let left = waiting.length; left > 0; left -= SLICE) {
      const entries = waiting.slice(0, Math.min(left, SLICE))
      await db.write((tx) => appendAuditEntries({ db: tx, deps: { db, clock } }, entries))
      waiting.splice(0, entries.length)
      for (const entry of entries) count(entry, -1)
      full = false
    }
  }
  return {
    add(entry) {
      if (waiting.length < MAX_WAITING && (ofAccount.get(entry.account_id) ?? 0) < MAX_OF_ACCOUNT) {
        waiting.push(entry)
        count(entry, 1)
        return
      }
      dropped.value++
      if (!full) log.error('too many audit lines of clear values wait for the store; further ones are dropped')
      full = true
    },
    write() {
      // Two at once would write the same entries, and remove others: a stop does not wait forever for the one in progress.
      const flushed = running.then(flush)
      running = flushed.catch(() => undefined)
      return flushed
    },
    end() {
      if (waiting.length === 0) return
      dropped.value += waiting.length
      log.error({ lines: waiting.length }, 'audit lines of clear values were not written before the end')
    },
  }
}

/**
 * Records a read of decrypted values. `subjects`: the response and the loaded resource; the first one with an id is the target. `targets`: of the
 * variables that were read.
 */
export function recordSecretRead(
  { secretReads, clock }: { secretReads: SecretReads; clock: Clock },
  { account, actor }: Caller,
  operationId: string,
  subjects: unknown[],
  targets: ReadonlySet<string>,
): void {
  const ids = subjects.map((subject) => (subject as { id?: string } | undefined)?.id)
  secretReads.add({
    stamp: clock.stamp(),
    account_id: account.id,
    actor_kind: actor.kind,
    actor_id: actor.id,
    token_id: actor.tokenId,
    type: operationId,
    subject_id: ids.find((id) => id !== undefined) ?? null,
    fields_json: JSON.stringify([...targets].sort()),
    project_id: projectIdOf(...subjects.toReversed()),
  })
}

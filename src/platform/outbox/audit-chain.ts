/**
 * The audit log is a hash chain: each entry has a hash of its content and of the previous hash. So a changed, deleted or inserted entry is found
 * (operations/operator/verify-audit.ts). The order is `position`, not the stamp. docs/decisions/0100.
 */
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import { insertMissingRows, insertRows, preparedInsert } from '../db/bulk.ts'
import { type Db, preparedQuery, type Queries, rowCount } from '../db/db.ts'
import type { Row } from '../db/schema.ts'

export type ChainLink = { position: number; hash: string }
/** An audit entry before it is linked. */
export type AuditEntry = Omit<Row<'audit'>, keyof ChainLink | 'project_id'> & { project_id?: string | null }

export const GENESIS_LINK: ChainLink = { position: 0, hash: '' }
export const CHAIN_SLICE = 500
/** Unlinked entries are counted up to this number. */
const MAX_UNLINKED = 10_000

/** Returns the link of an entry after `previous`. The hash covers every column but the project, in a fixed order. */
export function linkAfter(previous: ChainLink, entry: AuditEntry): ChainLink {
  const position = previous.position + 1
  const content = [
    previous.hash,
    position,
    entry.stamp,
    entry.account_id,
    entry.actor_kind,
    entry.actor_id,
    entry.token_id,
    entry.type,
    entry.subject_id,
    entry.fields_json,
  ]
  return { position, hash: hash('sha256', JSON.stringify(content), 'base64url') }
}

/** Returns the link of the last entry of the chain. */
export async function readChainHead(db: Queries): Promise<ChainLink> {
  const [head] = await selectHead(db, {})
  return head ?? GENESIS_LINK
}

/**
 * Writes an entry in the transaction of its change. On SQLite writes are sequential, so the entry is linked at once. On PostgreSQL linking would
 * serialize all writes, so `chainAuditEntries` links it after the commit.
 */
export async function appendAuditEntry(
  { db, deps }: { db: Queries; deps: { db: Pick<Db, 'engine'> } },
  entry: AuditEntry,
): Promise<void> {
  const link = deps.db.engine === 'sqlite' ? linkAfter(await readChainHead(db), entry) : { position: null, hash: null }
  await insertEntry(db, { ...rowOf(entry), ...link })
}

/**
 * Writes entries of earlier events with their original stamps. Skips one that a commit with a lost response already wrote. An entry gets a new stamp
 * where its own is taken, for example by another instance.
 */
export async function appendAuditEntries(
  { db, deps }: { db: Queries; deps: { db: Pick<Db, 'engine'>; clock: Pick<Clock, 'stamp'> } },
  entries: readonly AuditEntry[],
): Promise<void> {
  if (deps.db.engine === 'postgres') {
    const inserted = new Set((await insertMissingRows(db, 'audit', entries.map(unlinked))).map(({ stamp }) => stamp))
    const others = entries.filter(({ stamp }) => !inserted.has(stamp))
    return insertRows(db, 'audit', (await newEntries(db, deps.clock, others)).map(unlinked))
  }
  let last = await readChainHead(db)
  const rows = (await newEntries(db, deps.clock, entries)).map((entry) => {
    last = linkAfter(last, entry)
    return { ...rowOf(entry), ...last }
  })
  await insertRows(db, 'audit', rows)
}

function unlinked(entry: AuditEntry): Row<'audit'> {
  return { ...rowOf(entry), position: null, hash: null }
}

function rowOf(entry: AuditEntry) {
  return { ...entry, project_id: entry.project_id ?? null }
}

/** Returns the entries that are not written yet. The entry records a new stamp, so that a second attempt recognizes it. */
async function newEntries(
  db: Queries,
  clock: Pick<Clock, 'stamp'>,
  entries: readonly AuditEntry[],
): Promise<AuditEntry[]> {
  if (entries.length === 0) return []
  const stamps = entries.map(({ stamp }) => stamp)
  const rows = await db.selectFrom('audit').selectAll().where('stamp', 'in', stamps).execute()
  const written = new Map(rows.map((row) => [row.stamp, contentOf(row)]))
  return entries.filter((entry) => {
    const there = written.get(entry.stamp)
    if (there === contentOf(entry)) return false
    if (there !== undefined) entry.stamp = clock.stamp()
    return true
  })
}

function contentOf({ account_id, actor_kind, actor_id, token_id, type, subject_id, fields_json }: AuditEntry): string {
  return JSON.stringify([account_id, actor_kind, actor_id, token_id, type, subject_id, fields_json])
}

/** Sweep: links committed entries to the chain, oldest first. */
export async function chainAuditEntries({ db }: { db: Queries }, limit: number): Promise<number> {
  const entries = await db
    .selectFrom('audit')
    .selectAll()
    .where('position', 'is', null)
    .orderBy('stamp')
    .limit(limit)
    .execute()
  if (entries.length === 0) return 0
  let last = await readChainHead(db)
  const links = entries.map((entry) => {
    last = linkAfter(last, entry)
    return sql`(cast(${entry.stamp} as bigint), cast(${last.position} as bigint), ${last.hash})`
  })
  await sql`
    with link(stamp, position, hash) as (values ${sql.join(links)})
    update audit set position = link.position, hash = link.hash from link where audit.stamp = link.stamp`.execute(db)
  return entries.length
}

/** Counts the unlinked entries. */
export function countUnlinked(db: Queries): Promise<number> {
  const some = db.selectFrom('audit').select('stamp').where('position', 'is', null).limit(MAX_UNLINKED)
  return rowCount(db.selectFrom(some.as('some')))
}

/** The limit is a literal: for a bound limit SQLite plans the statement at each run. */
const selectHead = preparedQuery<Record<string, never>, ChainLink>((db) =>
  db
    .selectFrom('audit')
    .select(['position', 'hash'])
    .where('position', 'is not', null)
    .orderBy('position', 'desc')
    .limit(sql.lit(1))
    .$narrowType<ChainLink>(),
)

const insertEntry = preparedInsert('audit')

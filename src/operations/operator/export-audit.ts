/** The audit log in the order of its chain, in pages, so that a copy of it can be checked without Berth. docs/operations.md: Audit log. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import type { Queries } from '../../platform/db/db.ts'
import { GENESIS_LINK, readChainHead } from '../../platform/outbox/audit-chain.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, Timestamp } from '../../platform/schema/fields.ts'

/** Entries of a page. */
const MOST = 1000
/** The order of the chain and that of the moments differ by what was committed at the same time. So many are looked at around a bound. */
const AROUND = 1000

export const AuditExportQuery = Type.Object({
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'the position behind which to go on: `next` of an earlier page' }),
  ),
})
const Entry = Type.Object({
  position: Type.Integer(),
  stamp: Type.Integer(),
  account_id: Nullable(Type.String()),
  actor_kind: Type.String(),
  actor_id: Type.String(),
  token_id: Nullable(Type.String()),
  type: Type.String(),
  subject_id: Nullable(Type.String()),
  fields_json: Type.String(),
  hash: Type.String(),
})
export const AuditExport = Type.Object({
  entries: Type.Array(Entry),
  previous: Type.Object(
    { position: Type.Integer(), hash: Type.String() },
    { description: 'the link before the first entry' },
  ),
  next: Nullable(Type.Integer({ description: 'the position behind which to go on; null: that was all' })),
})

/**
 * Gives a page of the chain: every entry from the first one at or after `since` to the last one before `until`, without a gap, in the order of the
 * chain. Both in ms. An entry that is in no chain yet is left out.
 */
export async function exportAudit(
  { db }: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof AuditExportQuery>>,
): Promise<Static<typeof AuditExport>> {
  const from = Math.max(query.after ?? 0, await positionBefore(db, query.since))
  const to = await lastPosition(db, query.until)
  const rows = await db
    .selectFrom('audit')
    .selectAll()
    .where('position', '>', from)
    .where('position', '<=', to)
    .orderBy('position')
    .limit(MOST)
    .$narrowType<{ position: number; hash: string }>()
    .execute()
  const last = rows.at(-1)?.position ?? to
  return { entries: rows, previous: await linkAt(db, from), next: last < to ? last : null }
}

async function positionBefore(db: Queries, since: number | undefined): Promise<number> {
  if (since === undefined) return 0
  const rows = await around(db, since, '>=', 'asc')
  return rows.length === 0 ? (await readChainHead(db)).position : Math.min(...rows.map(({ position }) => position)) - 1
}

async function lastPosition(db: Queries, until: number | undefined): Promise<number> {
  if (until === undefined) return (await readChainHead(db)).position
  const rows = await around(db, until, '<', 'desc')
  return Math.max(0, ...rows.map(({ position }) => position))
}

function around(db: Queries, moment: number, side: '>=' | '<', order: 'asc' | 'desc') {
  return db
    .selectFrom('audit')
    .select('position')
    .where('stamp', side, moment * STAMPS_PER_MS)
    .where('position', 'is not', null)
    .orderBy('stamp', order)
    .limit(AROUND)
    .$narrowType<{ position: number }>()
    .execute()
}

async function linkAt(db: Queries, position: number): Promise<{ position: number; hash: string }> {
  const row = db.selectFrom('audit').select('hash').where('position', '=', position)
  const hash = (await row.executeTakeFirst())?.hash
  return hash ? { position, hash } : GENESIS_LINK
}

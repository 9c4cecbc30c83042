/** Exports the audit log in chain order, so that a copy can be verified without Berth. docs/operations.md: Audit log. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import type { Queries } from '../../platform/db/db.ts'
import { GENESIS_LINK, readChainHead } from '../../platform/outbox/audit-chain.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, Timestamp } from '../../platform/schema/fields.ts'

const MOST = 1000
/** Chain order and time order differ for concurrent commits, so this many entries around a bound are checked. */
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
 * Returns a page of the chain without gaps: from the first entry at or after `since` to the last before `until`, in ms. Excludes entries that are not
 * yet in the chain.
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

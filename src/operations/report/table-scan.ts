/** Scans growing tables in slices, up to a limit. docs/operations.md: Attention report. */
import { type RawBuilder, sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Schema } from '../../platform/db/schema.ts'
import type { Kind } from './schema.ts'
import type { Tally } from './tally.ts'

/** `rows`: rows of a slice, without those that share its last value. `max`: slices of a table. */
export type Slices = { rows: number; max: number }
const SLICES: Slices = { rows: 1000, max: 100 }

/** A table, the indexed column of the scan, and a value below all of that column. */
type Walked = { table: keyof Schema; by: string; first: string | number }

type Within = RawBuilder<boolean>

export type ReportCtx = Pick<OperatorCtx, 'db' | 'now' | 'deps'>

/** A scanned table: its report kinds, and how one slice is searched. */
export type ReportPart = Walked & { kinds: Kind[]; find(ctx: ReportCtx, tally: Tally, within: Within): Promise<void> }

/**
 * Scans a table, yielding between slices. `look` reads one slice by its condition. Returns whether the table has more than the 100,000 rows (or those
 * of `slices`) scanned.
 */
export async function scanTable(
  db: Queries,
  walked: Walked,
  look: (within: Within) => Promise<void>,
  { rows, max } = SLICES,
): Promise<boolean> {
  const { table, by, first } = walked
  const column = sql.ref(`${table}.${by}`)
  const pace = createYielder()
  let after = first
  for (let count = 0; count < max; count++) {
    const last = await lastOfSlice(db, walked, after, rows)
    const above = sql<boolean>`${column} > ${after}`
    await look(last === undefined ? above : sql`(${above} and ${column} <= ${last})`)
    if (last === undefined) return false
    after = last
    await pace()
  }
  const next = sql`select 1 from ${sql.table(table)} where ${column} > ${after} limit 1`
  return (await next.execute(db)).rows.length > 0
}

async function lastOfSlice(
  db: Queries,
  { table, by }: Walked,
  after: string | number,
  size: number,
): Promise<string | number | undefined> {
  const { rows } = await sql<{ last: string | number }>`select ${sql.ref(by)} as last from ${sql.table(table)}
    where ${sql.ref(by)} > ${after} order by ${sql.ref(by)} limit 1 offset ${sql.lit(size - 1)}`.execute(db)
  return rows[0]?.last
}

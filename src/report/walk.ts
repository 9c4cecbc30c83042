/** How the report looks through tables that grow: a slice at a time, and not beyond a limit. docs/operations.md: What needs attention. */
import { type RawBuilder, sql } from 'kysely'
import { openPace } from '../db/chunks.ts'
import type { Queries } from '../db/db.ts'
import type { Schema } from '../db/schema.ts'

/** Rows of a slice, and those that share its last value. */
const SLICE = 1000
const MOST_SLICES = 100

type Walked = { table: keyof Schema; by: string; first: string | number; mostSlices?: number }

/** The condition that a column lies within the slice. */
export type Within = (column: string) => RawBuilder<boolean>

/**
 * Walks through a table by an indexed column, and lets others run between the slices. `first`: a value below all of the column. `look`
 * reads one slice by the condition that it is given. Gives whether the table has more than the 100,000 rows (`mostSlices` of 1,000) that were looked through.
 */
export async function walk(
  db: Queries,
  { table, by, first, mostSlices = MOST_SLICES }: Walked,
  look: (within: Within) => Promise<void>,
): Promise<boolean> {
  const pace = openPace()
  let after = first
  for (let count = 0; count < mostSlices; count++) {
    const last = await lastOfSlice(db, table, by, after)
    const from = after
    await look((column) => {
      const above = sql<boolean>`${sql.ref(column)} > ${from}`
      return last === undefined ? above : sql<boolean>`(${above} and ${sql.ref(column)} <= ${last})`
    })
    if (last === undefined) return false
    after = last
    await pace()
  }
  const next = sql`select 1 from ${sql.table(table)} where ${sql.ref(by)} > ${after} limit 1`
  return (await next.execute(db)).rows.length > 0
}

async function lastOfSlice(
  db: Queries,
  table: string,
  by: string,
  after: string | number,
): Promise<string | number | undefined> {
  const { rows } = await sql<{ last: string | number }>`select ${sql.ref(by)} as last from ${sql.table(table)}
    where ${sql.ref(by)} > ${after} order by ${sql.ref(by)} limit 1 offset ${sql.lit(SLICE - 1)}`.execute(db)
  return rows[0]?.last
}

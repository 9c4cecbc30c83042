/** A store's rows, table by table, from one engine to the other. */
import type { Queries } from '../db/db.ts'
import { countRows, rowsOf, type Store, tablesOf } from '../db/tables.ts'
import type { Progress } from './progress.ts'

/** Triggers write it as the other tables are filled, so it is copied last. */
const NOTED_BY_TRIGGERS = 'edge_change'

/** The tables that hold data, in the order in which they are filled. Kysely's own say what migrations ran, and are not copied. */
export async function tablesToCopy(db: Store): Promise<Map<string, string[]>> {
  const all = await tablesOf(db)
  const names = [...all.keys()].filter((name) => !name.startsWith('kysely_'))
  const last = (name: string) => Number(name === NOTED_BY_TRIGGERS)
  return new Map(names.sort((one, other) => last(one) - last(other)).map((name) => [name, all.get(name)!]))
}

/**
 * Copies every row; what migrations put into `to` goes first. Both are transactions (or `from` is a file that nobody writes) and have the same tables.
 * Throws when a table or column is missing on one side, or a row got lost on the way.
 */
export async function copyRows(from: Queries, to: Queries, progress: Progress): Promise<void> {
  const tables = await tablesToCopy(from)
  mustBeAlike(tables, await tablesToCopy(to))
  const counts = new Map<string, number>()
  for (const table of tables.keys()) counts.set(table, await countRows(from, table))
  const total = counts.values().reduce((sum, count) => sum + count, 0)
  let copied = 0
  for (const [table, count] of counts) {
    await (to as Store).deleteFrom(table).execute()
    for await (const rows of rowsOf(from, table)) {
      await (to as Store).insertInto(table).values(rows).execute()
      copied += rows.length
      progress('copy', copied, total)
    }
    const there = await countRows(to, table)
    if (there !== count) throw new Error(`the table ${table} has ${there} rows of ${count}; nothing was kept`)
  }
}

/** The order of columns may differ: what was added by a migration stands where the engine puts it. */
function mustBeAlike(one: Map<string, string[]>, other: Map<string, string[]>): void {
  const textOf = (tables: Map<string, string[]>) =>
    [...tables].map(([name, columns]) => `${name}(${columns.toSorted()})`).sort()
  const [left, right] = [textOf(one), textOf(other)]
  const odd = left.find((table) => !right.includes(table)) ?? right.find((table) => !left.includes(table))
  if (odd !== undefined) throw new Error(`the two stores do not have the same tables: ${odd} is in one of them only`)
}

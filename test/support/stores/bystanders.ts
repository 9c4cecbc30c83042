/**
 * Rows next to those of a request. Each write of a world is first tried in a store that has copies of every row under other ids, and undone. A statement
 * that lacks a condition changes a copy, also in a test of one account. SQLite alone.
 */
import { sql } from 'kysely'
import { insertRows } from '../../../src/platform/db/bulk.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import type { Row, Schema } from '../../../src/platform/db/schema.ts'
import { TABLES } from '../../../src/platform/db/topics.ts'
import type { World } from '../world.ts'

type Table = keyof Schema & string
type Values = Record<string, string | number | null>
type Work = (tx: Queries) => Promise<unknown>
type Changed = { table: Table | 'refused'; name: string }
/** By table the columns of each unique index. */
type Indexes = ReadonlyMap<Table, string[][]>

/** Tables of the store itself, and of what happened: their rows are of no account. */
const OF_THE_STORE: readonly Table[] = [
  'root_key',
  'project_key',
  'fact',
  'store_size',
  'event',
  'audit',
  'edge_change',
].concat(['backup', 'backup_run', 'keyring_copy']) as Table[]
/** Columns that say of what a row is. */
const IDS = /^(id|hash|email|recipient|\w+_(id|by|hash))$/
/** A copy has the same password and root key: no condition on them keeps it apart. */
const KEPT_IDS = new Set(['root_key_id', 'password_hash'])
/** The copy whose ids all differ: a row of another account. */
const ALL = '*'
/** Numbers below it are ids, others stamps: the clock gives few of a millisecond, and low ones. */
const FIRST_STAMP = 1e9
const [ID_STEP, STAMP_STEP] = [1_000_000, 512]

/**
 * Tries each write of this world from now on. Returns what gives the changed copies since the last call: `token: id user_id` are one that differs from a
 * token in its id, and one that differs in its user. `token: *` differs in all ids.
 */
export function watchBystanders({ deps: { db } }: World): () => string[] {
  const { write } = db
  const changed = new Map<string, Set<string>>()
  db.write = (work, owner) =>
    write(async (tx) => {
      const tried = await changedNextTo(tx, work)
      const done = await work(tx)
      for (const { table, name } of tried) changed.set(table, (changed.get(table) ?? new Set()).add(name))
      return done
    }, owner)
  return () => {
    const lines = [...changed].map(([table, names]) => `${table}: ${[...names].sort().join(' ')}`)
    changed.clear()
    return lines.sort()
  }
}

/**
 * The copies that `work` changes. Next to more rows of its account it may be refused, because of a limit: then it is tried next to those of others alone. `refused`
 * if that is refused too.
 */
async function changedNextTo(tx: Queries, work: Work): Promise<Changed[]> {
  return (
    (await tried(tx, work, () => true)) ??
    (await tried(tx, work, (name) => name === ALL)) ?? [{ table: 'refused', name: ALL }]
  )
}

async function tried(tx: Queries, work: Work, takes: (name: string) => boolean): Promise<Changed[] | undefined> {
  await sql`savepoint bystanders`.execute(tx)
  try {
    const copies = await addCopies(tx, takes)
    const isDone = await work(tx).then(
      () => true,
      () => false,
    )
    return isDone ? await changedOf(tx, copies) : undefined
  } finally {
    await sql`rollback to bystanders`.execute(tx)
    await sql`release bystanders`.execute(tx)
  }
}

/** By table the copies, as JSON, with their names. */
type Copies = ReadonlyMap<Table, ReadonlyMap<string, string>>

async function addCopies(tx: Queries, takes: (name: string) => boolean): Promise<Copies> {
  const copies = new Map<Table, Map<string, string>>()
  for (const [table, indexes] of await indexesOf(tx)) {
    const rows = await rowsOf(tx, table)
    const keys = new Set(rows.flatMap((row) => keysOf(row, indexes)))
    const added = rows
      .flatMap((row) => copiesOf(row, indexes))
      .filter(({ name, copy }) => {
        const own = keysOf(copy, indexes)
        const isFree = takes(name) && !own.some((key) => keys.has(key))
        if (isFree) for (const key of own) keys.add(key)
        return isFree
      })
    const given = added.map(({ copy }) => copy as Row<Table>)
    await insertRows(tx, table, given)
    copies.set(table, new Map(added.map(({ name, copy }) => [JSON.stringify(copy), name])))
  }
  return copies
}

async function changedOf(tx: Queries, copies: Copies): Promise<Changed[]> {
  const changed: Changed[] = []
  for (const [table, names] of copies) {
    const there = new Set((await rowsOf(tx, table)).map((row) => JSON.stringify(row)))
    changed.push(...[...names].filter(([row]) => !there.has(row)).map(([, name]) => ({ table, name })))
  }
  return changed
}

async function rowsOf(tx: Queries, table: Table): Promise<Values[]> {
  return (await tx.selectFrom(table).selectAll().execute()) as Values[]
}

/** The same row with other ids, and rows that differ in one id or in one part of a key. What must be unique differs too. */
function copiesOf(row: Values, indexes: readonly string[][]): { name: string; copy: Values }[] {
  const ids = Object.keys(row).filter((column) => IDS.test(column) && !KEPT_IDS.has(column))
  const parts = new Set([...ids, ...indexes.flat().filter((column) => typeof row[column] === 'string')])
  return [ALL, ...parts].map((name, at) => {
    const copy = { ...row }
    const change = (column: string) => {
      copy[column] = another(row[column] ?? 'none', name, at)
    }
    // Ids are random: no two rows have the same one.
    for (const id of ids) if (name === ALL ? row[id] !== null : id === 'id') change(id)
    if (name !== ALL && name !== 'id') change(name)
    for (const unique of indexes) {
      const last = unique.findLast((column) => row[column] !== null)
      if (last !== undefined && unique.every((column) => copy[column] === row[column])) change(last)
    }
    return { name, copy }
  })
}

function another(value: string | number, name: string, at: number): string | number {
  if (typeof value === 'number') return value + (value < FIRST_STAMP ? ID_STEP * (at + 1) : STAMP_STEP + 16 * at)
  // A hash keeps its length, and a host name or an email stays one.
  if (/^[0-9a-f]{40,}$/.test(value)) return value.slice(at + 1) + value.slice(0, at + 1)
  return value.includes('.') ? `${name}.${value}` : `${value}.${name}`
}

function keysOf(row: Values, indexes: readonly string[][]): string[] {
  return indexes
    .filter((unique) => unique.every((column) => row[column] !== null))
    .map((unique) => JSON.stringify([unique, unique.map((column) => row[column])]))
}

/** An id that is a number is the primary key of its table, which has no index. */
async function indexesOf(tx: Queries): Promise<Indexes> {
  const { rows } = await sql<{ name: Table; columns: string }>`
    select t.name, group_concat(i.name) as columns from sqlite_master t, pragma_index_list(t.name) l, pragma_index_info(l.name) i
      where t.type = 'table' and l."unique" = 1 group by t.name, l.name
    union all select t.name, c.name from sqlite_master t, pragma_table_info(t.name) c
      where t.type = 'table' and c.pk = 1 and lower(c.type) = 'integer'`.execute(tx)
  const tables = TABLES.filter((table) => !OF_THE_STORE.includes(table))
  return new Map(
    tables.map((table) => [table, rows.filter(({ name }) => name === table).map(({ columns }) => columns.split(','))]),
  )
}

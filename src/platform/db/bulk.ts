/**
 * Writes many rows of one table. SQLite runs one compiled statement per row. PostgreSQL receives all rows as one JSON text and reads them by the
 * column types of the table.
 */
import { type CompiledQuery, type RawBuilder, type SqlBool, sql } from 'kysely'
import { createYielder } from './chunks.ts'
import { compileOnce, preparedQuery, type Queries } from './db.ts'
import type { Row, Schema } from './schema.ts'
import { DIRECT_QUERIES, type DirectQuery } from './sqlite/dialect.ts'

type Table = keyof Schema & string
type Column<T extends Table> = keyof Row<T> & string
type Values = Record<string, string | number | null>
type Sql = RawBuilder<unknown>
/** Builds a statement for rows of these columns. `given`: the source of many rows, or undefined for one row. */
type Build = (columns: string[], value: (column: string) => Sql, given: Sql | undefined) => Sql
type Verb = { name: string; table: Table; build: Build }

/** Rows per statement on PostgreSQL: about half a megabyte of JSON. */
const ROWS_A_STATEMENT = 1000

/** Returns a subquery over the texts of a JSON array, so the statement is the same for any number of them. */
export function jsonArrayValues(db: Queries, json: string): RawBuilder<string> {
  return isSqlite(db)
    ? sql`(select value from json_each(${json}))`
    : sql`(select json_array_elements_text(${json}::json))`
}

/**
 * Returns the condition that a column has one of the texts of a JSON array. Unlike `in` with `jsonArrayValues`, PostgreSQL uses the column's index
 * even without table statistics.
 */
export function isOneOf(db: Queries, column: string, json: string): RawBuilder<SqlBool> {
  const texts = sql`array(select json_array_elements_text(${json}::json))`
  return isSqlite(db)
    ? sql`${sql.ref(column)} in ${jsonArrayValues(db, json)}`
    : sql`${sql.ref(column)} = any(${texts})`
}

/** Texts that a condition binds one by one, which plans are measured with. A statement of SQLite binds 32,766 at most, one of PostgreSQL 65,535. */
const MAX_BOUND = 1000

/** Returns the condition that a column has one of these texts, however many there are. */
export function isAmong(db: Queries, column: string, texts: readonly string[]): RawBuilder<SqlBool> {
  return texts.length > MAX_BOUND
    ? isOneOf(db, column, JSON.stringify(texts))
    : sql`${sql.ref(column)} in (${sql.join(texts)})`
}

function isSqlite(db: Queries): boolean {
  return DIRECT_QUERIES.has(db.getExecutor().adapter)
}

/** Inserts rows, all of the same columns. */
export async function insertRows<T extends Table>(db: Queries, table: T, rows: readonly Row<T>[]): Promise<void> {
  await run(db, { name: 'insert', table, build: insertInto(table) }, rows)
}

/** Creates the insert of one row for a hot path. It discards its result, as `preparedQuery` explains. */
export function preparedInsert<T extends Table>(table: T): (db: Queries, row: Row<T>) => Promise<unknown> {
  let insert: ReturnType<typeof insertOf> | undefined
  return (db, row: object) => {
    insert ??= insertOf(table, Object.keys(row))
    return insert(db, row as Values)
  }
}

function insertOf(table: string, columns: string[]) {
  const build = (db: Queries, value: Values) => ({
    compile: () => insertInto(table)(columns, (column) => sql`${value[column]}`, undefined).compile(db),
  })
  return preparedQuery<Values, unknown>(build, { discardResult: true })
}

/** Inserts the rows whose keys are free and returns those. Columns with a default may be missing in all rows. */
export async function insertMissingRows<T extends Table>(db: Queries, table: T, rows: readonly Partial<Row<T>>[]) {
  const insert = insertInto(table)
  const build: Build = (...of) => sql`${insert(...of)} on conflict do nothing returning *`
  return (await run(db, { name: 'insert free', table, build }, rows)) as Row<T>[]
}

/** Updates columns of the rows that match in the columns of `key`. */
export async function updateRows<T extends Table>(
  db: Queries,
  table: T,
  key: readonly Column<T>[],
  columns: readonly Column<T>[],
  rows: readonly Row<T>[],
): Promise<void> {
  const build: Build = (_, value, given) => {
    const assignments = columns.map((column) => sql`${sql.ref(column)} = ${value(column)}`)
    const from = given === undefined ? sql`` : sql`from ${given}`
    return sql`update ${sql.table(table)} set ${sql.join(assignments)} ${from} where ${sameIn(table, key, value)}`
  }
  await run(db, { name: `update ${columns} by ${key}`, table, build }, rows)
}

/** Deletes the rows that match a given row in all its columns. All given rows have the same columns. */
export async function deleteRows<T extends Table>(
  db: Queries,
  table: T,
  rows: readonly Partial<Row<T>>[],
): Promise<void> {
  const build: Build = (columns, value, given) => {
    const using = given === undefined ? sql`` : sql`using ${given}`
    return sql`delete from ${sql.table(table)} ${using} where ${sameIn(table, columns, value)}`
  }
  await run(db, { name: 'delete', table, build }, rows)
}

function insertInto(table: string): Build {
  return (columns, value, given) => {
    const into = sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})`
    const values = sql.join(columns.map(value))
    return given === undefined ? sql`${into} values (${values})` : sql`${into} select ${values} from ${given}`
  }
}

function sameIn(table: string, columns: readonly string[], value: (column: string) => Sql): Sql {
  return sql.join(
    columns.map((column) => sql`${sql.ref(`${table}.${column}`)} = ${value(column)}`),
    sql` and `,
  )
}

/** Runs a verb for all rows and returns the results. Yields to other work in between. */
async function run(db: Queries, verb: Verb, rows: readonly object[]): Promise<unknown[]> {
  if (rows.length === 0) return []
  const { one, many } = statementsOf(verb, Object.keys(rows[0]!))
  const direct = DIRECT_QUERIES.get(db.getExecutor().adapter)
  if (direct !== undefined) return runForEach(direct, one(db), rows)
  if (rows.length === 1) return runOnce(db, one(db), rows[0] as Values)
  const results: unknown[] = []
  const pace = createYielder()
  for (let at = 0; at < rows.length; at += ROWS_A_STATEMENT) {
    const json = JSON.stringify(rows.slice(at, at + ROWS_A_STATEMENT))
    results.push(...(await runOnce(db, many(db), { json })))
    await pace()
  }
  return results
}

async function runForEach(direct: DirectQuery, { query, fill }: Compiled<Values>, rows: readonly object[]) {
  const results: unknown[] = []
  const pace = createYielder()
  for (const row of rows) {
    results.push(...direct(query.sql, fill(row as Values)))
    const pause = pace()
    if (pause !== undefined) await pause
  }
  return results
}

async function runOnce<V>(db: Queries, { query, fill }: Compiled<V>, values: V): Promise<unknown[]> {
  return (await db.executeQuery({ ...query, parameters: fill(values) })).rows
}

type Compiled<V> = { query: CompiledQuery; fill: (values: V) => unknown[] }
type Statements = { one(db: Queries): Compiled<Values>; many(db: Queries): Compiled<{ json: string }> }
/** By verb, table and columns. The size is bounded by the kinds of writes in the code. */
const cache = new Map<string, Statements>()

function statementsOf({ name, table, build }: Verb, columns: string[]): Statements {
  const id = `${name} ${table} ${columns}`
  const statements = cache.get(id)
  if (statements !== undefined) return statements
  const single = compileOnce<Values, unknown>((db, value) => ({
    compile: () => build(columns, (column) => sql`${value[column]}`, undefined).compile(db),
  }))
  const many = compileOnce<{ json: string }, unknown>((db, { json }) => ({
    compile: () => {
      const source = sql`json_populate_recordset(null::${sql.table(table)}, ${json}::json) as given`
      return build(columns, (column) => sql.ref(`given.${column}`), source).compile(db)
    },
  }))
  cache.set(id, { one: single, many })
  return { one: single, many }
}

/** Span attributes of SQL statements, by the OpenTelemetry conventions for databases. docs/operations.md: Traces. */

/** Returns the attributes of a statement, without values. `engine`: its OpenTelemetry name. */
export function attributesOf(engine: string, sql: string) {
  return { 'db.system.name': engine, 'db.query.summary': summaryOf(sql), 'db.query.text': withoutValues(sql) }
}

/** Returns a low-cardinality name, such as `insert project`: the verb and the first table. */
export function summaryOf(sql: string): string {
  const verb = /^[\s(]*([a-z]+)/i.exec(sql)?.[1]?.toLowerCase() ?? 'statement'
  const table = /\b(?:from|into|update) "(\w+)"/i.exec(sql)?.[1]
  return table === undefined ? verb : `${verb} ${table}`
}

/** Removes literals; other values are bound and not in the text. */
function withoutValues(sql: string): string {
  return sql.replaceAll(/'(?:[^']|'')*'/g, '?')
}

/** Returns the database's error code; its message may contain values. */
export function failureOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'error'
}

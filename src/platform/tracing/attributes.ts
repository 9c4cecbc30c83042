/** What a span says of a statement, by the semantic conventions of OpenTelemetry for databases. docs/operations.md: Traces. */

/** What a statement is, without any value. `engine`: as OpenTelemetry names a database. */
export function attributesOf(engine: string, sql: string) {
  return { 'db.system.name': engine, 'db.query.summary': summaryOf(sql), 'db.query.text': withoutValues(sql) }
}

/** `insert project`: the verb and the first table. There are few of them, so that spans can be grouped. */
export function summaryOf(sql: string): string {
  const verb = /^[\s(]*([a-z]+)/i.exec(sql)?.[1]?.toLowerCase() ?? 'statement'
  const table = /\b(?:from|into|update) "(\w+)"/i.exec(sql)?.[1]
  return table === undefined ? verb : `${verb} ${table}`
}

/** Values are bound, so they are not in the text. What is written into it as a literal goes too. */
function withoutValues(sql: string): string {
  return sql.replaceAll(/'(?:[^']|'')*'/g, '?')
}

/** Why a statement failed: the code of the database, which holds no value as its message may. */
export function failureOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'error'
}

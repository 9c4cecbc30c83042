/** `berth migrate`. */
import type { Invocation, Outcome } from '../command-line/command.ts'

export async function migrateCommand({ settings }: Invocation): Promise<Outcome> {
  const { database } = settings()
  process.umask(0o077)
  const applied =
    database.engine === 'sqlite'
      ? await (await import('../db/sqlite/open.ts')).migrateSqlite(database.file)
      : await (await import('../db/postgres/open.ts')).migratePostgres(database.url)
  const text =
    applied.length === 0
      ? 'the store has the schema of this version'
      : applied.map((name) => `applied ${name}`).join('\n')
  return { data: { applied }, text }
}

import type { CommandResult, Invocation } from '../command-line/command.ts'

/** `berth migrate`: migrates the database to this version. Throws when another process has an outdated SQLite database. */
export async function migrateCommand({ settings }: Invocation): Promise<CommandResult> {
  const { database } = settings()
  process.umask(0o077)
  const applied =
    database.engine === 'sqlite'
      ? await migrateFile(database.file)
      : await (await import('../../platform/db/postgres/open.ts')).migratePostgres(database.url)
  const text =
    applied.length === 0
      ? 'the store has the schema of this version'
      : applied.map((name) => `applied ${name}`).join('\n')
  return { data: { applied }, text }
}

async function migrateFile(file: string): Promise<string[]> {
  const { migrateSqlite } = await import('../../platform/db/sqlite/open.ts')
  return migrateSqlite(file).catch(async (error) => {
    throw (await import('../../platform/db/sqlite/store-errors.ts')).explainStoreError(error, file)
  })
}

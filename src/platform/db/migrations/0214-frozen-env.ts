import { type Kysely, SqliteAdapter, sql } from 'kysely'

/** Variables of deployments, for builds and functions. Those of ended builds are gone: such deployments read the present ones. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isSqlite = db.getExecutor().adapter instanceof SqliteAdapter
  await db.schema
    .createTable('frozen_env')
    .addColumn('id', isSqlite ? 'integer' : 'bigint', (c) =>
      isSqlite ? c.primaryKey() : c.primaryKey().generatedByDefaultAsIdentity(),
    )
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('project_id', 'text', (c) => c.notNull())
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('variables_json', 'text')
    .addColumn('sealed_env', 'text')
    .addColumn('bytes', 'bigint', (c) => c.notNull())
    .addColumn('refs', 'integer', (c) => c.notNull())
    .addUniqueConstraint('frozen_env_content', ['project_id', 'content'])
    .execute()
  await db.schema.alterTable('deployment').addColumn('env_id', 'bigint').execute()
  await sql`insert into frozen_env (account_id, project_id, content, variables_json, sealed_env, bytes, refs)
    select account_id, project_id, deployment_id, variables_json, sealed_env, 0, 1 from build
    where variables_json is not null or sealed_env is not null`.execute(db)
  await sql`update deployment set env_id = (select frozen_env.id from frozen_env where content = deployment.id
    and frozen_env.project_id = deployment.project_id) where source_id is not null`.execute(db)
  for (const column of ['variables_json', 'sealed_env'])
    await db.schema.alterTable('build').dropColumn(column).execute()
}

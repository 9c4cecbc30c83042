/**
 * Each PostgreSQL statement is a round trip. So a GET of a project reads the project and its variables in the statement that identifies the caller.
 * docs/scaling.md.
 */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Row, Schema } from '../db/schema.ts'

/**
 * Rows prefetched with a caller. `project`: null if it does not exist. `variables`, newest first: null if they are many or large; then they are read
 * on demand.
 */
export type Prefetched = { idOrName: string; project: Row<'project'> | null; variables: Row<'env_var'>[] | null }
export type AheadColumns = Omit<Prefetched, 'idOrName'>

/** More or larger variables are not prefetched, because the statement shares its connection with others. */
const MAX_VARIABLES = 100
const MAX_BYTES = 64 * 1024

/** Whether a text is an id; otherwise it is a name. */
export function isProjectId(idOrName: string): boolean {
  return idOrName.startsWith('prj_')
}

/** Returns what `identifyByToken` prefetches on a GET of a project; undefined on SQLite, which needs no round trips. */
export function projectToPrefetch(
  { engine }: Pick<Db, 'engine'>,
  { idOrName = '' }: Readonly<Record<string, string>>,
): string | undefined {
  return engine === 'postgres' && !idOrName.includes('\0') ? idOrName : undefined
}

/** Returns the variables of a project, newest first; undefined without a prefetch. */
export function prefetchedVariables(
  { caller }: { caller: { prefetched?: Prefetched } },
  projectId: string,
): Row<'env_var'>[] | undefined {
  return caller.prefetched?.project?.id === projectId ? (caller.prefetched.variables ?? undefined) : undefined
}

/** Adds the project of the account with this id or name, and its variables. */
export function withPrefetchedProject<T>(
  query: SelectQueryBuilder<Schema & { account: Row<'account'> }, never, T>,
  column: 'id' | 'name',
  idOrName: string,
) {
  const project = sql<{ project: Row<'project'>; id: string }>`(
    select to_json(project) as project, project.id from project
    where project.account_id = account.id and ${sql.ref(`project.${column}`)} = ${idOrName})`
  const variables = sql<{ variables: Row<'env_var'>[] | null }>`(
    select case when count(*) <= ${sql.lit(MAX_VARIABLES)} and coalesce(sum(value_bytes), 0) <= ${sql.lit(MAX_BYTES)}
      then coalesce(json_agg(to_json(one)), '[]'::json) end as variables
    from (select * from env_var where env_var.project_id = ahead.id order by created_stamp desc
      limit ${sql.lit(MAX_VARIABLES + 1)}) as one)`
  return query
    .leftJoin(sql`lateral ${project}`.as('ahead'), (join) => join.onTrue())
    .leftJoin(sql`lateral ${variables}`.as('ahead_of'), (join) => join.onTrue())
    .select(sql<AheadColumns['project']>`ahead.project`.as('project'))
    .select(sql<AheadColumns['variables']>`ahead_of.variables`.as('variables'))
}

/** The meta of deployments, for CI to find the deployment of a commit. It has its own table, because JSON columns are not filtered. */
import { hash } from 'node:crypto'
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Ctx, OperatorCtx } from '../../context.ts'
import { commitFieldNames } from '../../model/commit.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

/** From this number of matches on, a list scans deployments in order and tests each for the value. */
export const MAX_SORTED_MATCHES = 500
const MAX_FILTERS = 20
const PREFIX = 'meta-'

/** A filter: the deployment has one of these marks. */
type Marks = readonly string[]

/** Inserts the search marks of a new deployment. */
export async function writeMeta(ctx: Pick<OperatorCtx, 'db'>, row: Row<'deployment'>): Promise<void> {
  const fields = Object.entries(JSON.parse(row.meta_json) as Record<string, string>)
  if (fields.length === 0) return
  const place = { project_id: row.project_id, deployment_id: row.id }
  const marks = fields.map(([key, value]) => ({ ...place, mark: markOf(key, value) }))
  await ctx.db.insertInto('deployment_meta').values(marks).execute()
}

/** Deletes the search marks of a deployment. */
export async function deleteMeta(ctx: Pick<OperatorCtx, 'db'>, row: Row<'deployment'>): Promise<void> {
  const fields = Object.entries(JSON.parse(row.meta_json) as Record<string, string>)
  if (fields.length === 0) return
  const marks = fields.map(([key, value]) => markOf(key, value))
  await ctx.db
    .deleteFrom('deployment_meta')
    .where('project_id', '=', row.project_id)
    .where('mark', 'in', marks)
    .where('deployment_id', '=', row.id)
    .execute()
}

/** One field with its value. Stored (0034-deployment-meta.ts), so it must not change. */
function markOf(key: string, value: string): string {
  return hash('sha256', JSON.stringify([key, value]), 'base64url').slice(0, 22)
}

/** Returns the meta filters of a query: each `meta-<field>`, and `sha`. Refuses: bad_request 400 (more than 20 of them). */
export function metaFilters(query: { sha?: string }): Marks[] {
  const pairs = Object.entries(query).filter(([name]) => name.startsWith(PREFIX))
  const marks = pairs.map(([name, value]) => [markOf(name.slice(PREFIX.length), value)])
  const { sha } = query
  if (sha !== undefined) marks.push(commitFieldNames('CommitSha').map((field) => markOf(field, sha)))
  if (marks.length > MAX_FILTERS) {
    refuse('bad_request', `Invalid request: a list is filtered by at most ${MAX_FILTERS} fields of the meta.`)
  }
  return marks
}

/** Returns ids of deployments that match one filter, if few match: then the list sorts these. Undefined if many match each filter, such as a branch. */
export async function findMetaMatches(ctx: Ctx, filters: readonly Marks[]): Promise<string[] | undefined> {
  for (const marks of filters) {
    const rows = await ctx.db
      .selectFrom('project')
      .innerJoin('deployment_meta', 'deployment_meta.project_id', 'project.id')
      .select('deployment_meta.deployment_id')
      .where('project.account_id', '=', ctx.account.id)
      .where('deployment_meta.mark', 'in', marks)
      .limit(sql.lit(MAX_SORTED_MATCHES + 1))
      .execute()
    if (rows.length <= MAX_SORTED_MATCHES) return rows.map((row) => row.deployment_id)
  }
  return undefined
}

/** Returns a condition for deployments with one of the values. */
export function hasMeta(eb: ExpressionBuilder<Schema, 'deployment'>, marks: Marks): Expression<SqlBool> {
  const having = eb
    .selectFrom('deployment_meta')
    .select(sql.lit(1).as('one'))
    .whereRef('deployment_meta.project_id', '=', 'deployment.project_id')
    .where('deployment_meta.mark', 'in', marks)
    .whereRef('deployment_meta.deployment_id', '=', 'deployment.id')
  return eb.exists(having)
}

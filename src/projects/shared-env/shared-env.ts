/** Variables of an account that several projects share: find, list, get. docs/shared-variables.md. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { guard } from '../../platform/access/guards.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import { canDecrypt, isVisible } from '../env/access.ts'
import { projectsOf } from './links.ts'
import {
  type ListSharedQuery,
  MAX_SHARED_VARIABLES,
  type SharedList,
  type SharedRow,
  type SharedVariable,
  sharedTargets,
  showShared,
} from './schema.ts'

/** Shared variables belong to the account: a project-limited token gets those of its projects only with pull. */
export const actsForAccount = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) => {
  if (caller.projectIds !== null)
    refuse('missing_permission', "Only some projects are visible here: shared variables are the whole account's.")
})

/** Returns a shared variable of the account that the caller can see. Refuses: not_found 404. */
export async function findShared(ctx: Ctx, { id = '' }: Params): Promise<SharedRow> {
  const row = await ctx.db
    .selectFrom('shared_env_var')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || !isVisible(ctx.caller, row))
    refuse('not_found', `The account has no shared variable "${id.slice(0, 100)}".`)
  return row
}

/** Returns the shared variables of a project in a target, also those that a caller does not see. */
export async function readSharedOf(ctx: Pick<Ctx, 'db'>, projectId: string, target: string): Promise<SharedRow[]> {
  const rows = await ctx.db
    .selectFrom('shared_env_link')
    .innerJoin('shared_env_var', (join) =>
      join
        .onRef('shared_env_var.account_id', '=', 'shared_env_link.account_id')
        .onRef('shared_env_var.id', '=', 'shared_env_link.variable_id'),
    )
    .selectAll('shared_env_var')
    .where('shared_env_link.project_id', '=', projectId)
    .orderBy('shared_env_var.key')
    .execute()
  return rows.filter((row) => sharedTargets(row).some((item) => item === target))
}

/** Lists all visible shared variables without values, newest first. */
export async function listShared(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ListSharedQuery>,
): Promise<Static<typeof SharedList>> {
  const rows = await ctx.db
    .selectFrom('shared_env_var')
    .select(['account_id', 'id', 'key', 'type', 'targets', 'value_version', 'value_bytes', 'comment'])
    .select(['configuration_id', 'version', 'created_by', 'updated_by', 'created_stamp', 'updated_at'])
    .where('account_id', '=', ctx.account.id)
    .limit(MAX_SHARED_VARIABLES)
    .execute()
  const visible = rows.filter((row) => isVisible(ctx.caller, row)).sort((a, b) => b.created_stamp - a.created_stamp)
  const links = await projectsOf(
    ctx,
    ctx.account.id,
    visible.map(({ id }) => id),
  )
  const isWanted = filterOf(query)
  const data = visible
    .map((row) => ({ ...showShared(row, links.get(row.id)!, 'hidden'), securityIssues: [] }))
    .filter(isWanted)
  return { data, pagination: { count: data.length, next: null, prev: null } }
}

function filterOf(query: ListSharedQuery): (variable: SharedVariable) => boolean {
  const { search = '', projectId, ids, exclude_ids: not = query['exclude-ids'] } = query
  const notOf = query.exclude_projectId ?? query['exclude-projectId']
  return ({ id, key, projectId: has }) =>
    key.toLowerCase().includes(search.toLowerCase()) &&
    (projectId === undefined || has.includes(projectId)) &&
    (notOf === undefined || !has.includes(notOf)) &&
    (ids === undefined || ids.split(',').includes(id)) &&
    (not === undefined || !not.split(',').includes(id))
}

/** Returns one shared variable, decrypted if the caller may read it. Refuses: internal_server_error 500 (a value that does not open). */
export async function getShared(ctx: Ctx, row: SharedRow): Promise<SharedVariable> {
  const projects = (await projectsOf(ctx, ctx.account.id, [row.id])).get(row.id)!
  if (row.type === 'sensitive' || !canDecrypt(ctx.caller, sharedTargets(row)))
    return showShared(row, projects, 'hidden')
  const box = await openSecretBox(ctx, ctx.account.id)
  const clear = box.open(row.id, row.value_version, row.sealed_value)
  if (clear === undefined) refuse('internal_server_error')
  ctx.recordSecretRead(sharedTargets(row))
  return showShared(row, projects, { clear })
}

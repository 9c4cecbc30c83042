import type { Ctx, OperatorCtx, Params } from '../context.ts'
import { canSeeProject } from '../platform/access/guards.ts'
import { isProjectId } from '../platform/access/prefetch.ts'
import { isUniqueViolation, preparedQuery } from '../platform/db/db.ts'
import type { Row } from '../platform/db/schema.ts'
import { refuse } from '../platform/refusals/refusal.ts'
import type { Settings } from './project-settings.ts'

/**
 * Finds the project of the account by `idOrName` (or `projectId`). Only ids begin with `prj_`. Projects of other accounts, and those hidden from the
 * token, are not found. Refuses: not_found 404.
 */
export async function findProject(ctx: Ctx, params: Params): Promise<Row<'project'>> {
  const idOrName = params.idOrName ?? params.projectId ?? ''
  const row = await readProject(ctx, idOrName)
  if (row === undefined || !canSeeProject(ctx.caller, row.id)) {
    refuse('not_found', `Project "${idOrName.slice(0, 100)}" not found.`)
  }
  return row
}

/** Returns whether the caller can see a project of this id or name. */
export async function projectExists(ctx: Ctx, idOrName: string): Promise<boolean> {
  const row = idOrName === '' ? undefined : await readProject(ctx, idOrName)
  return row !== undefined && canSeeProject(ctx.caller, row.id)
}

async function readProject({ db, caller, account }: Ctx, idOrName: string): Promise<Row<'project'> | undefined> {
  if (caller.prefetched?.idOrName === idOrName) return caller.prefetched.project ?? undefined
  const key = { accountId: account.id, idOrName }
  return (isProjectId(idOrName) ? await selectById(db, key) : await selectByName(db, key))[0]
}

/** Updates columns of a project and moves it to the front of the list. Refuses: project_name_taken 409. */
export async function changeProject(
  ctx: Pick<OperatorCtx, 'db' | 'stamp'>,
  project: Row<'project'>,
  columns: Partial<Row<'project'>>,
): Promise<Row<'project'>> {
  try {
    return await ctx.db
      .updateTable('project')
      .set({ ...columns, updated_stamp: ctx.stamp })
      .where('account_id', '=', project.account_id)
      .where('id', '=', project.id)
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (isUniqueViolation(error, 'project_name'))
      refuse('project_name_taken', `A project named "${columns.name}" already exists.`)
    throw error
  }
}

/** Returns the settings of a project with these changes, for its column. */
export function withSettings({ settings_json }: Row<'project'>, changes: Settings): string {
  return JSON.stringify({ ...(JSON.parse(settings_json) as Settings), ...changes })
}

const selectById = preparedQuery<{ accountId: string; idOrName: string }, Row<'project'>>((db, value) =>
  db.selectFrom('project').selectAll().where('account_id', '=', value.accountId).where('id', '=', value.idOrName),
)

const selectByName = preparedQuery<{ accountId: string; idOrName: string }, Row<'project'>>((db, value) =>
  db.selectFrom('project').selectAll().where('account_id', '=', value.accountId).where('name', '=', value.idOrName),
)

/** Names of projects. docs/spec/decisions.md: Projects. */
import type { OperatorCtx } from '../context.ts'
import { refuse } from '../platform/refusals/refusal.ts'

/** `transfer-request` is a reserved path segment below /projects. */
const NAME = /^(?!.*---)(?!prj_)(?!(\.{1,2}|transfer-request)$)[a-z0-9._-]{1,100}$/

/** Checks a project name. Refuses: invalid_project_name 400. */
export function mustBeName(name: string): void {
  if (!NAME.test(name)) refuse('invalid_project_name')
}

/** Returns whether an account has a project of this name. Only the unique index makes this final. */
export async function isNameTaken(ctx: Pick<OperatorCtx, 'db'>, accountId: string, name: string): Promise<boolean> {
  const row = await ctx.db
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row !== undefined
}

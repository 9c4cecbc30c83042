/** Budget check of the account that receives a project. docs/limits.md: Budgets. */
import type { BudgetName } from '../../budgets.ts'
import type { OperatorCtx } from '../../context.ts'
import { rowCount } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { fits } from '../../platform/limiter/must-fit.ts'

/** Returns the first budget of the account that the project, its domains or its deployments exceed. */
export async function fullBudget(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  project: Row<'project'>,
  accountId: string,
): Promise<BudgetName | undefined> {
  const inAccount = ctx.db.selectFrom('project_domain').where('account_id', '=', project.account_id)
  const domains = await rowCount(inAccount.where('project_id', '=', project.id))
  const deployments = await rowCount(ctx.db.selectFrom('deployment').where('project_id', '=', project.id))
  if (!(await fits(ctx, 'projects', accountId, 1))) return 'projects'
  if (!(await fits(ctx, 'domains', accountId, domains))) return 'domains'
  if (!(await fits(ctx, 'deployments', accountId, deployments))) return 'deployments'
  return undefined
}

/** Budget check of the account that receives a project. docs/limits.md: Budgets. */
import type { BudgetName } from '../../budgets.ts'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { fits } from '../../platform/limiter/must-fit.ts'

/** Returns the first budget of the account that the project, its domains or its deployments exceed. */
export async function fullBudget(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  project: Row<'project'>,
  accountId: string,
): Promise<BudgetName | undefined> {
  const domains = await ctx.db
    .selectFrom('project_domain')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const deployments = await ctx.db
    .selectFrom('deployment')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  if (!(await fits(ctx, 'projects', accountId, 1))) return 'projects'
  if (!(await fits(ctx, 'domains', accountId, Number(domains.count)))) return 'domains'
  if (!(await fits(ctx, 'deployments', accountId, Number(deployments.count)))) return 'deployments'
  return undefined
}

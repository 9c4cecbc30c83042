/** Stamps are unique within an account, but two instances may create the same one for two accounts in one millisecond. */
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'

/** Tables that are paginated by stamp within an account, and move with a project. */
const STAMPED = ['project_domain', 'deployment', 'alias'] as const
type Stamped = (typeof STAMPED)[number]
type Moving = Pick<Row<'project'>, 'id' | 'account_id'>

/** Replaces stamps of a project that exist in the other account with the next one that is free in both. */
export async function reassignStamps(
  ctx: Pick<OperatorCtx, 'db'>,
  project: Moving,
  toAccountId: string,
): Promise<void> {
  for (const table of STAMPED) {
    for (const stamp of await sharedStamps(ctx, table, project, toAccountId)) {
      let free = stamp + 1
      while (await isTaken(ctx, table, [project.account_id, toAccountId], free)) free++
      // An alias is sorted by the stamp of its domain.
      for (const listed of table === 'project_domain' ? (['project_domain', 'alias'] as const) : [table]) {
        await ctx.db
          .updateTable(listed)
          .set({ created_stamp: free })
          .where('account_id', '=', project.account_id)
          .where('project_id', '=', project.id)
          .where('created_stamp', '=', stamp)
          .execute()
      }
    }
  }
}

async function sharedStamps(
  ctx: Pick<OperatorCtx, 'db'>,
  table: Stamped,
  project: Moving,
  toAccountId: string,
): Promise<number[]> {
  const there = ctx.db.selectFrom(table).select('created_stamp').where('account_id', '=', toAccountId)
  const shared = await ctx.db
    .selectFrom(table)
    .select('created_stamp')
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where('created_stamp', 'in', there)
    .execute()
  return shared.map((row) => row.created_stamp)
}

async function isTaken(ctx: Pick<OperatorCtx, 'db'>, table: Stamped, accounts: string[], stamp: number) {
  const row = await ctx.db
    .selectFrom(table)
    .select('created_stamp')
    .where('account_id', 'in', accounts)
    .where('created_stamp', '=', stamp)
    .executeTakeFirst()
  return row !== undefined
}

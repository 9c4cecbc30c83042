/** Who requested the last promote or rollback of a project, by name. docs/console.md: Project pages. */
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { findTargetsById } from '../../names/audit-targets.ts'
import { readUserNames } from '../../names/users.ts'

/** Returns the name of a user or an integration; `you` for the session user. Undefined without a request. Screens must declare `USER_NAME_CALLS`. */
export async function readRequester(
  ctx: ConsoleCtx,
  account: OwnAccount,
  { id }: Pick<Project, 'id'>,
): Promise<string | undefined> {
  // A request and its audit entry are of one write, which has one stamp.
  const actor = await ctx.db
    .selectFrom('alias_request')
    .innerJoin('audit', 'audit.stamp', 'alias_request.requested_stamp')
    .select(['audit.actor_id as id', 'audit.actor_kind as kind'])
    .where('alias_request.project_id', '=', id)
    .orderBy('alias_request.requested_stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (actor === undefined) return undefined
  if (actor.kind === 'integration') return (await findTargetsById(ctx, [actor.id], account.id)).get(actor.id)?.name
  return (await readUserNames(ctx, account, [actor.id])).get(actor.id) ?? actor.id
}

/** Teams that users create. docs/accounts.md: Teams. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { Name, Slug } from '../accounts/schema.ts'
import { insertTeam } from './accounts.ts'

export const NewOwnTeam = Type.Object({ slug: Slug, name: Type.Optional(Name) })
/** SDKs before 1.8 reject a response without `billing`. */
export const CreatedOwnTeam = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  billing: Type.Object({ plan: OneOf('hobby', 'pro', 'enterprise') }),
})

/**
 * Creates a team whose OWNER is the caller. Refuses: missing_permission 403 (a limited token; `BERTH_TEAMS_BY` is `operator`), slug_taken 409, and as
 * `addMember` does.
 */
export async function createOwnTeam(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, Static<typeof NewOwnTeam>>,
): Promise<Static<typeof CreatedOwnTeam>> {
  const { caller } = ctx
  if (caller.tokenTeamId !== null || caller.projectIds !== null || caller.installationId !== null)
    refuse('missing_permission', 'This token is limited: it cannot create a team.')
  if (ctx.deps.config.teamsBy === 'operator')
    refuse('missing_permission', 'On this service only the operator creates teams. Ask your operator.')
  const team = { slug: body.slug, name: body.name ?? body.slug, ownerId: caller.userId }
  const { id, slug, name, plan } = await insertTeam(ctx, team, 'accepted')
  return { id, slug, name, billing: { plan } }
}

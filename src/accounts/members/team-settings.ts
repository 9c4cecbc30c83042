/** Team settings, which OWNERs change. docs/accounts.md: Team settings. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { Team } from '../accounts/schema.ts'
import { claimSlug, reserveSlug, unlessTaken } from '../accounts/slugs.ts'
import { settingsOf, showTeam, type TeamRow } from '../accounts/teams.ts'
import type { PatchTeam } from './schema.ts'
import { mustBeInTeam } from './team-members.ts'

/**
 * Changes the fields in the body, for an OWNER. Refuses: missing_permission 403, slug_taken 409, too_many_slugs 409, second_factor_first 409 (the
 * caller would lose access).
 */
export async function updateTeam(
  ctx: Ctx,
  team: TeamRow,
  { body }: Input<unknown, PatchTeam>,
): Promise<Static<typeof Team>> {
  mustBeInTeam(ctx, team, 'team:write')
  const { previewDeploymentSuffix, enablePreviewFeedback, enableProductionFeedback, remoteCaching } = body
  const settings = { previewDeploymentSuffix, enablePreviewFeedback, enableProductionFeedback, remoteCaching }
  if (body.requireSecondFactor && !(await hasSecondFactor(ctx.db, ctx.caller.userId))) refuse('second_factor_first')
  const columns = {
    ...(body.requireSecondFactor !== undefined && {
      factor_demanded_at: body.requireSecondFactor ? (team.factor_demanded_at ?? ctx.now) : null,
    }),
    name: body.name ?? team.name,
    slug: body.slug ?? team.slug,
    description: body.description === undefined ? team.description : body.description || null,
    sensitive_env_policy: body.sensitiveEnvironmentVariablePolicy ?? team.sensitive_env_policy,
    // JSON drops undefined values, so they cannot overwrite stored settings.
    settings_json: JSON.stringify({ ...settingsOf(team), ...JSON.parse(JSON.stringify(settings)) }),
  }
  if (body.slug !== undefined && body.slug !== team.slug) {
    await claimSlug(ctx, body.slug, team.id)
    await reserveSlug(ctx, team.slug, team.id)
  }
  const change = ctx.db.updateTable('account').set(columns).where('id', '=', team.id).returningAll()
  const row = await unlessTaken({ slug: columns.slug, email: null }, () => change.executeTakeFirstOrThrow())
  return showTeam({ ...team, ...row })
}

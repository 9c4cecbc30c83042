/** Moves a domain to another project of the account atomically. docs/spec/wire.md 6. */

import type { Ctx, Input } from '../../context.ts'
import { showEvent } from '../../model/domain.ts'
import { findProject } from '../../model/project.ts'
import { notInTransfer } from '../../platform/access/guards.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newChallengeToken } from '../../platform/base/ids.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { newChallenge, queueChecks } from '../domain-verification/check-schedule.ts'
import { reassignDomain, unassignDomain } from '../serving/domain-assignment.ts'
import { type DomainWithProject, stopRedirects } from './domains.ts'
import { PRODUCTION, readRouting } from './routing.ts'
import { type MoveDomain, type ProjectDomain, showDomain } from './schema.ts'

/**
 * Moves a domain. Branch and redirect come from the body, since old ones belong to the old project. A verified domain stays
 * verified, another gets a new challenge. Refuses: not_found 404 (the target), in_transfer 409 (the target too),
 * domain_on_project 400 (it is there already), ROUTING_REFUSALS 400.
 */
export async function moveDomain(
  ctx: Ctx,
  { project, domain }: DomainWithProject,
  input: Input<unknown, MoveDomain>,
): Promise<ProjectDomain> {
  const target = await findProject(ctx, { projectId: input.body.projectId })
  await notInTransfer(ctx, target, input)
  if (target.id === project.id)
    refuse('domain_on_project', `The domain "${domain.name}" is already on this project.`, {
      domain: domain.name,
      projectId: target.id,
    })
  const routing = await readRouting(ctx, target, domain.name, PRODUCTION, input.body)
  await stopRedirects(ctx, ctx.account, project, domain)
  await unassignDomain(ctx, project, domain)
  const now = stampToMs(ctx.stamp)
  const isClaim = domain.verified_at === null
  const challenge = isClaim ? newChallenge(now) : { challenge_token: newChallengeToken() }
  const row = await ctx.db
    .updateTable('project_domain')
    .set({ ...routing, project_id: target.id, ...challenge, updated_at: now })
    .where('account_id', '=', domain.account_id)
    .where('name', '=', domain.name)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (isClaim) await queueChecks(ctx, domain.account_id, now)
  await reassignDomain(ctx, target, row)
  // Each event names only its own project, since subscribers of one may not know the other.
  ctx.emit('project.domain.moved', { ...showEvent(project, domain), direction: 'out' }, project.id)
  ctx.emit('project.domain.moved', { ...showEvent(target, row), direction: 'in' }, target.id)
  return showDomain(row, ctx.deps.config.domains)
}

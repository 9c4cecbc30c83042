import type { EventAccount, OperatorCtx, ProjectHooks } from '../../context.ts'
import { showEvent } from '../../model/domain.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newChallenge, queueChecks } from '../domain-verification/check-schedule.ts'
import { releaseProofs } from '../domain-verification/released-proof.ts'
import { stopRedirects } from './domains.ts'

type Domain = Row<'project_domain'>

export const domainsOnProject: ProjectHooks = { remove: removeDomains, move: moveDomains }

/** Removes every domain of a project and frees the names. Verifications still cover the account for 30 days. */
async function removeDomains(ctx: OperatorCtx, project: Row<'project'>): Promise<void> {
  await releaseProofs(ctx, project.account_id, { projectId: project.id })
  await ctx.db
    .deleteFrom('project_domain')
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .execute()
}

/**
 * Moves every domain of a project to another account, in the transaction of the project. Verified ones stay verified; a claim
 * gets a new challenge. If the other account also claims a name, one claim stays: the verified one, or else its own. The account
 * is notified of its changes. docs/transfer.md: Domains move.
 */
async function moveDomains(ctx: OperatorCtx, project: Row<'project'>, to: EventAccount): Promise<void> {
  await settleDoubleClaims(ctx, project, to)
  const now = stampToMs(ctx.stamp)
  const domains = await domainsOf(ctx, project)
  await ctx.db
    .updateTable('project_domain')
    .set({ account_id: to.id, inherited_at: ctx.now, updated_at: now })
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where('verified_at', 'is not', null)
    .execute()
  const claims = domains.filter((domain) => domain.verified_at === null)
  for (const { name } of claims) {
    await ctx.db
      .updateTable('project_domain')
      .set({ account_id: to.id, ...newChallenge(now), updated_at: now })
      .where('account_id', '=', project.account_id)
      .where('name', '=', name)
      .execute()
  }
  if (claims.length > 0) await queueChecks(ctx, to.id, now)
}

async function settleDoubleClaims(ctx: OperatorCtx, project: Row<'project'>, to: EventAccount): Promise<void> {
  const own = new Map((await domainsOf(ctx, project)).map((domain) => [domain.name, domain]))
  for (const names of chunks([...own.keys()])) {
    const rivals = await ctx.db
      .selectFrom('project_domain')
      .selectAll()
      .where('account_id', '=', to.id)
      .where('name', 'in', names)
      .execute()
    for (const rival of rivals) {
      const moving = own.get(rival.name)!
      if (moving.verified_at === null) await drop(ctx, project, moving, to)
      else await drop(ctx, await projectOf(ctx, rival), rival, to)
    }
  }
}

async function drop(ctx: OperatorCtx, project: Row<'project'>, domain: Domain, recipient: EventAccount): Promise<void> {
  await stopRedirects(ctx, recipient, project, domain)
  await ctx.db
    .deleteFrom('project_domain')
    .where('account_id', '=', domain.account_id)
    .where('name', '=', domain.name)
    .execute()
  ctx.emit('project.domain.deleted', showEvent(project, domain), project.id, recipient)
}

function domainsOf(ctx: OperatorCtx, project: Row<'project'>): Promise<Domain[]> {
  return ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .execute()
}

function projectOf(ctx: OperatorCtx, domain: Domain): Promise<Row<'project'>> {
  return ctx.db
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', domain.account_id)
    .where('id', '=', domain.project_id)
    .executeTakeFirstOrThrow()
}

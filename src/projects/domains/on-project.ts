import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { EventAccount, OperatorCtx, ProjectHooks } from '../../context.ts'
import { showEvent } from '../../model/domain.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { changeInSteps, chunks, createYielder, type Step } from '../../platform/db/chunks.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { newChallenge, queueChecks } from '../domain-verification/check-schedule.ts'
import { releaseProofs } from '../domain-verification/released-proof.ts'
import { stopRedirects } from './domains.ts'

type Domain = Row<'project_domain'>

export const domainsOnProject: ProjectHooks = { remove: removeDomains, move: moveDomains }

/** Removes every domain of a project and frees the names. Verifications still cover the account for 30 days. */
async function removeDomains(ctx: OperatorCtx, project: Row<'project'>): Promise<void> {
  await inSteps(ctx, project, async (step) => {
    const rows = await ctx.db.selectFrom('project_domain').select('name').where(ofStep(project, step)).execute()
    await releaseProofs(
      ctx,
      project.account_id,
      rows.map(({ name }) => name),
    )
    await ctx.db.deleteFrom('project_domain').where(ofStep(project, step)).execute()
  })
}

/** Domains per step: some milliseconds. */
const STEP = 500

/** Changes all domains of a project in steps: there may be 50,000. */
function inSteps(
  { db }: OperatorCtx,
  project: Row<'project'>,
  change: (step: Step) => Promise<unknown>,
): Promise<void> {
  return changeInSteps(async (after) => {
    const [last] = await db
      .selectFrom('project_domain')
      .select('created_stamp')
      .where('account_id', '=', project.account_id)
      .where('project_id', '=', project.id)
      .where('created_stamp', '>', after)
      .orderBy('created_stamp')
      .offset(STEP - 1)
      .limit(1)
      .execute()
    return last?.created_stamp
  }, change)
}

/**
 * Moves every domain of a project to another account, in the transaction of the project. Verified ones stay verified; a claim
 * gets a new challenge. If the other account also claims a name, one claim stays: the verified one, or else its own. The account
 * is notified of its changes. docs/transfer.md: Domains move.
 */
async function moveDomains(ctx: OperatorCtx, project: Row<'project'>, to: EventAccount): Promise<void> {
  await inSteps(ctx, project, async (step) => settleDoubleClaims(ctx, project, await domainsIn(ctx, project, step), to))
  const now = stampToMs(ctx.stamp)
  let claims = 0
  await inSteps(ctx, project, async (step) => {
    const domains = await domainsIn(ctx, project, step)
    const unverified = domains.filter((domain) => domain.verified_at === null)
    claims += unverified.length
    await ctx.db
      .updateTable('project_domain')
      .set({ account_id: to.id, inherited_at: ctx.now, updated_at: now })
      .where(ofStep(project, step))
      .where('verified_at', 'is not', null)
      .execute()
    for (const { name } of unverified)
      await ctx.db
        .updateTable('project_domain')
        .set({ account_id: to.id, ...newChallenge(now), updated_at: now })
        .where('account_id', '=', project.account_id)
        .where('name', '=', name)
        .execute()
  })
  if (claims > 0) await queueChecks(ctx, to.id, now)
}

async function settleDoubleClaims(
  ctx: OperatorCtx,
  project: Row<'project'>,
  domains: readonly Domain[],
  to: EventAccount,
): Promise<void> {
  const own = new Map(domains.map((domain) => [domain.name, domain]))
  const pace = createYielder()
  for (const names of chunks([...own.keys()])) {
    const rivals = await ctx.db
      .selectFrom('project_domain')
      .selectAll()
      .where('account_id', '=', to.id)
      .where('name', 'in', names)
      .execute()
    for (const rival of rivals) {
      await pace()
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

function domainsIn({ db }: OperatorCtx, project: Row<'project'>, step: Step): Promise<Domain[]> {
  return db.selectFrom('project_domain').selectAll().where(ofStep(project, step)).execute()
}

/** Returns the condition for the domains of a project in a step. */
function ofStep({ account_id, id }: Row<'project'>, { after, end = Number.MAX_SAFE_INTEGER }: Step) {
  return (eb: ExpressionBuilder<Schema, 'project_domain'>): Expression<SqlBool> =>
    eb.and([
      eb('account_id', '=', account_id),
      eb('project_id', '=', id),
      eb('created_stamp', '>', after),
      eb('created_stamp', '<=', end),
    ])
}

function projectOf(ctx: OperatorCtx, domain: Domain): Promise<Row<'project'>> {
  return ctx.db
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', domain.account_id)
    .where('id', '=', domain.project_id)
    .executeTakeFirstOrThrow()
}

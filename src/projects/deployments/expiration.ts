/** Removes deployments older than the retention of their project. docs/deployments.md: Expiration. */
import type { Static } from 'typebox'
import type { Ctx, Input, OperatorCtx } from '../../context.ts'
import { eventAccount } from '../../model/account.ts'
import { OF_PRODUCTION } from '../../model/addresses.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { changeProject } from '../../model/project.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { leaveBranches } from '../serving/addresses.ts'
import { deleteRequests } from '../serving/production.ts'
import { deleteBuilds } from './builds.ts'
import { deleteMeta } from './meta.ts'
import { releaseOutputs } from './outputs.ts'
import { showDeploymentEvent } from './register.ts'
import { deleteUsage } from './usage.ts'

const DAY_MS = 86_400_000
/** TABLE Retention periods, in days. */
export const PERIOD_DAYS = {
  '1d': 1,
  '1w': 7,
  '1m': 30,
  '2m': 60,
  '3m': 90,
  '6m': 180,
  '1y': 365,
  unlimited: 36_500,
} as const
type Period = keyof typeof PERIOD_DAYS
const NEVER = PERIOD_DAYS.unlimited
/** Request field → project field, in days. */
const FIELDS = {
  expiration: 'expirationDays',
  expirationProduction: 'expirationDaysProduction',
  expirationCanceled: 'expirationDaysCanceled',
  expirationErrored: 'expirationDaysErrored',
} as const
type Field = keyof typeof FIELDS
type Policy = Record<(typeof FIELDS)[Field], number>

const Period = OneOf(...(Object.keys(PERIOD_DAYS) as Period[]))
export const PatchExpiration = Type.Object({
  expiration: Type.Optional({ ...Period, description: 'of previews' }),
  expirationProduction: Type.Optional(Period),
  expirationCanceled: Type.Optional(Period),
  expirationErrored: Type.Optional(Period),
})
export const Expiration = Type.Object({
  deploymentExpiration: Type.Object({
    expiration: Period,
    expirationProduction: Period,
    expirationCanceled: Period,
    expirationErrored: Period,
  }),
})

/** Sets the retention of deployments, in effect after an hour, so that a mistake can be corrected. Fields missing in the body stay. */
export async function updateExpiration(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof PatchExpiration>>,
): Promise<Static<typeof Expiration>> {
  const policy = policyOf(project)
  for (const field of Object.keys(FIELDS) as Field[]) {
    const period = body[field]
    if (period !== undefined) policy[FIELDS[field]] = PERIOD_DAYS[period]
  }
  await changeProject(ctx, project, {
    expiration_json: JSON.stringify(policy),
    expiration_checked_at: Object.values(policy).every((days) => days === NEVER) ? null : ctx.now,
  })
  const periodOf = (field: Field) =>
    (Object.keys(PERIOD_DAYS) as Period[]).find((period) => PERIOD_DAYS[period] === policy[FIELDS[field]])!
  return {
    deploymentExpiration: {
      expiration: periodOf('expiration'),
      expirationProduction: periodOf('expirationProduction'),
      expirationCanceled: periodOf('expirationCanceled'),
      expirationErrored: periodOf('expirationErrored'),
    },
  }
}

function policyOf({ expiration_json }: Row<'project'>): Policy {
  const unlimited = Object.fromEntries(Object.values(FIELDS).map((field) => [field, NEVER])) as Policy
  return expiration_json === null ? unlimited : { ...unlimited, ...JSON.parse(expiration_json) }
}

const HOUR_MS = 3_600_000
/** Per transaction: each removal publishes an event. */
const MAX_REMOVED = 20

/**
 * Sweep: removes expired deployments, checking each project with a retention once an hour. Keeps the production deployment and
 * targets of domains or unfinished promotes and rollbacks. A branch address keeps none: otherwise the newest of each branch would
 * stay forever. Projects in transfer wait.
 */
export async function expireDeployments(ctx: OperatorCtx, limit: number): Promise<number> {
  const projects = await ctx.db
    .selectFrom('project')
    .selectAll()
    .where('expiration_checked_at', '<=', ctx.now - HOUR_MS)
    .where((eb) => eb.or([eb('transfer_started_at', 'is', null), eb('transfer_completed_at', 'is not', null)]))
    .orderBy('expiration_checked_at')
    .limit(limit)
    .execute()
  let left = MAX_REMOVED
  for (const project of projects) {
    left -= await removeExpired(ctx, project, left)
    // The next slice follows immediately and removes the rest.
    if (left === 0) return limit
    await ctx.db
      .updateTable('project')
      .set({ expiration_checked_at: ctx.now })
      .where('account_id', '=', project.account_id)
      .where('id', '=', project.id)
      .execute()
  }
  return projects.length
}

async function removeExpired(ctx: OperatorCtx, project: Row<'project'>, limit: number): Promise<number> {
  const rows = await selectExpired(ctx, project, limit).execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const owner = await eventAccount(ctx.db, project.account_id)
  const requests = await ctx.db
    .selectFrom('alias_request')
    .select('to_deployment_id')
    .where('project_id', '=', project.id)
    .where('to_deployment_id', 'in', ids)
    .execute()
  for (const { to_deployment_id } of requests)
    await deleteRequests(ctx, project.id, { toDeploymentId: to_deployment_id })
  for (const row of rows) {
    await deleteMeta(ctx, row)
    ctx.emit('deployment.cleanup', showDeploymentEvent(ctx, row), project.id, owner)
  }
  await deleteUsage(ctx, ids)
  await deleteBuilds(ctx, ids)
  await releaseOutputs(ctx, rows)
  await ctx.db.deleteFrom('deployment').where('id', 'in', ids).execute()
  await leaveBranches(ctx, project, rows)
  await refreshDeploymentSummary(ctx, project.id)
  return rows.length
}

/** The oldest expired deployments of a project that have no domain. */
function selectExpired(ctx: OperatorCtx, project: Row<'project'>, limit: number) {
  const policy = policyOf(project)
  const before = (days: number) => (ctx.now - days * DAY_MS) * STAMPS_PER_MS
  return ctx.db
    .selectFrom('deployment')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('created_stamp', '<', before(Math.min(...Object.values(policy))))
    .where((eb) => {
      const went = (state: 'ERROR' | 'CANCELED', days: number) =>
        eb.and([eb('ready_state', '=', state), eb('created_stamp', '<', before(days))])
      const ofTarget = (target: 'production' | 'preview', days: number) =>
        eb.and([
          eb('ready_state', 'not in', ['ERROR', 'CANCELED']),
          eb('target', '=', target),
          eb('created_stamp', '<', before(days)),
        ])
      return eb.or([
        went('ERROR', policy.expirationDaysErrored),
        went('CANCELED', policy.expirationDaysCanceled),
        ofTarget('production', policy.expirationDaysProduction),
        ofTarget('preview', policy.expirationDays),
      ])
    })
    .where('id', '!=', project.live_deployment_id ?? '')
    .where((eb) => {
      const alias = eb
        .selectFrom('alias')
        .select('name')
        .whereRef('alias.deployment_id', '=', 'deployment.id')
        .where((of) => of.or([of('address_of', 'is', null), of('address_of', '=', OF_PRODUCTION)]))
      const request = eb
        .selectFrom('alias_request')
        .select('id')
        .where('alias_request.project_id', '=', project.id)
        .where('finished_at', 'is', null)
        .where((of) =>
          of.or([
            of('to_deployment_id', '=', of.ref('deployment.id')),
            of('from_deployment_id', '=', of.ref('deployment.id')),
          ]),
        )
      return eb.and([eb.not(eb.exists(alias)), eb.not(eb.exists(request))])
    })
    .orderBy('created_stamp')
    .limit(limit)
}

/**
 * What the answer of a project shows of its deployments, folded into one column of the project whenever it changes: reading
 * a project, or a page of them, asks nothing more. docs/decisions/0040; docs/spec/wire.md 2.2.
 */
import type { Static } from 'typebox'
import type { Account, OperatorCtx } from '../context.ts'
import { stampToMs } from '../platform/base/clock.ts'
import { READY_STATES } from '../platform/db/deployment-tables.ts'
import type { Row } from '../platform/db/schema.ts'
import { Type } from '../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../platform/schema/fields.ts'
import { OF_BRANCH, OF_PRODUCTION } from './addresses.ts'

const SHOWN_DEPLOYMENTS = 5
/** Shown names per deployment; `GET /deployments/{id}/aliases` lists all. */
const SHOWN_ALIASES = 20

export const Meta = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 100,
  additionalProperties: { type: 'string', maxLength: 1000 },
})

export const AutomaticAliases = Type.Array(Type.String(), { description: 'those of `alias` that Berth gave' })

const Summary = Type.Object(
  {
    id: Type.String(),
    alias: Type.Array(Type.String(), { description: 'at most 20 of the names that point to it' }),
    aliasAssigned: Nullable(Timestamp),
    aliasError: Type.Null(),
    automaticAliases: Type.Optional(AutomaticAliases),
    buildingAt: Type.Optional(Timestamp),
    createdAt: Timestamp,
    createdIn: Type.String(),
    creator: Type.Object({ uid: Type.String(), email: Type.String(), username: Type.String() }),
    deploymentHostname: Type.String(),
    meta: Meta,
    name: Type.String(),
    plan: OneOf('hobby', 'pro', 'enterprise'),
    private: Type.Boolean(),
    readyAt: Type.Optional(Timestamp),
    readyState: OneOf(...READY_STATES),
    readySubstate: Type.Optional(OneOf('STAGED', 'PROMOTED')),
    requestedAt: Timestamp,
    target: Nullable(OneOf('production')),
    teamId: Nullable(Type.String()),
    type: OneOf('LAMBDAS'),
    url: Type.String(),
    userId: Type.String(),
  },
  { title: 'DeploymentSummary' },
)
type Summary = Static<typeof Summary>
/** The creator is added when it is shown, because accounts change their email and slug. */
type StoredSummary = Omit<Summary, 'creator'>

/** The deployment fields of a project's reply. */
export const ShownDeployments = {
  lastAliasRequest: Nullable(
    Type.Object({
      fromDeploymentId: Type.String({ description: 'empty when nothing served production before' }),
      toDeploymentId: Type.String(),
      jobStatus: OneOf('pending', 'in-progress', 'succeeded', 'failed', 'skipped'),
      requestedAt: Timestamp,
      type: OneOf('promote', 'rollback'),
    }),
  ),
  lastRollbackTarget: Nullable(Type.Object({ deploymentId: Type.String(), requestedAt: Timestamp })),
  latestDeployments: Type.Array(Summary),
  live: Type.Boolean({ description: 'a deployment serves production' }),
  targets: Type.Object({ production: Type.Optional(Summary) }),
}
const DeploymentsReply = Type.Object(ShownDeployments)
type DeploymentsReply = Static<typeof DeploymentsReply>
type StoredDeployments = Omit<DeploymentsReply, 'latestDeployments' | 'targets'> & {
  latestDeployments: StoredSummary[]
  targets: { production?: StoredSummary }
}

const NONE: DeploymentsReply = {
  lastAliasRequest: null,
  lastRollbackTarget: null,
  latestDeployments: [],
  live: false,
  targets: {},
}

/** Returns the column as reply fields. The build system does not report who pushed, so the account is the creator. */
export function showDeployments(deploymentsJson: string | null, { id, slug, email }: Account): DeploymentsReply {
  if (deploymentsJson === null) return NONE
  const { latestDeployments, targets, ...more } = JSON.parse(deploymentsJson) as StoredDeployments
  const show = (summary: StoredSummary) => ({ ...summary, creator: { uid: id, email: email ?? '', username: slug } })
  return {
    ...more,
    latestDeployments: latestDeployments.map(show),
    targets: targets.production === undefined ? {} : { production: show(targets.production) },
  }
}

/** Rebuilds the column from the tables. Call it last when deployments, aliases or requests change. */
export async function refreshDeploymentSummary(ctx: Pick<OperatorCtx, 'db'>, projectId: string): Promise<void> {
  const project = await ctx.db
    .selectFrom('project')
    .innerJoin('account', 'account.id', 'project.account_id')
    .select(['project.live_deployment_id', 'account.id', 'account.kind'])
    .where('project.id', '=', projectId)
    .executeTakeFirstOrThrow()
  const latest = await ctx.db
    .selectFrom('deployment')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('created_stamp', 'desc')
    .limit(SHOWN_DEPLOYMENTS)
    .execute()
  const live = await findLive(ctx, project.live_deployment_id, latest)
  const summaries = new Map<string, StoredSummary>()
  for (const row of live === undefined ? latest : [...latest, live]) {
    if (!summaries.has(row.id)) summaries.set(row.id, summary(row, project, await readDeploymentDomains(ctx, row.id)))
  }
  const stored: StoredDeployments = {
    ...(await lastRequest(ctx, projectId)),
    latestDeployments: latest.map((row) => summaries.get(row.id)!),
    live: live !== undefined,
    targets: live === undefined ? {} : { production: summaries.get(live.id)! },
  }
  await ctx.db
    .updateTable('project')
    .set({ deployments_json: JSON.stringify(stored) })
    .where('id', '=', projectId)
    .execute()
}

async function findLive(ctx: Pick<OperatorCtx, 'db'>, id: string | null, latest: Row<'deployment'>[]) {
  if (id === null) return undefined
  const among = latest.find((row) => row.id === id)
  return among ?? ctx.db.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
}

export type Names = { alias: string[]; automaticAliases?: string[] }

/** Returns the names that serve a deployment: domains, oldest first, then generated addresses. The number is limited. */
export async function readDeploymentDomains(ctx: Pick<OperatorCtx, 'db'>, deploymentId: string): Promise<Names> {
  const rows = await ctx.db
    .selectFrom('alias')
    .select(['name', 'address_of'])
    .where('deployment_id', '=', deploymentId)
    .orderBy('created_stamp')
    .limit(SHOWN_ALIASES)
    .execute()
  // Clients show the first as the address of the deployment.
  const names = (is: (address_of: string | null) => boolean) =>
    rows.filter((row) => is(row.address_of)).map(({ name }) => name)
  const assigned = [...names((of) => of === OF_PRODUCTION), ...names((of) => of?.startsWith(OF_BRANCH) ?? false)]
  return {
    alias: [...names((of) => of === null), ...assigned],
    ...(assigned.length > 0 && { automaticAliases: assigned }),
  }
}

async function lastRequest(
  ctx: Pick<OperatorCtx, 'db'>,
  projectId: string,
): Promise<Pick<DeploymentsReply, 'lastAliasRequest' | 'lastRollbackTarget'>> {
  const row = await ctx.db
    .selectFrom('alias_request')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('requested_stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return { lastAliasRequest: null, lastRollbackTarget: null }
  const requestedAt = stampToMs(row.requested_stamp)
  const { type, status: jobStatus, to_deployment_id: toDeploymentId } = row
  return {
    lastAliasRequest: { fromDeploymentId: row.from_deployment_id ?? '', toDeploymentId, jobStatus, requestedAt, type },
    lastRollbackTarget: type === 'rollback' ? { deploymentId: toDeploymentId, requestedAt } : null,
  }
}

type Owner = Pick<Row<'account'>, 'id' | 'kind'>

function summary(row: Row<'deployment'>, owner: Owner, names: Names): StoredSummary {
  return {
    id: row.id,
    ...names,
    aliasAssigned: names.alias.length > 0 ? row.ready_at : null,
    aliasError: null,
    ...(row.building_at !== null && { buildingAt: row.building_at }),
    createdAt: stampToMs(row.created_stamp),
    createdIn: '',
    deploymentHostname: row.url,
    meta: JSON.parse(row.meta_json) as Record<string, string>,
    name: row.name,
    plan: row.plan,
    private: false,
    ...(row.ready_at !== null && { readyAt: row.ready_at }),
    readyState: row.ready_state,
    ...substateOf(row),
    requestedAt: stampToMs(row.created_stamp),
    target: row.target === 'production' ? 'production' : null,
    teamId: owner.kind === 'team' ? owner.id : null,
    type: 'LAMBDAS',
    url: row.url,
    userId: owner.id,
  }
}

/** A built production deployment is staged until it is promoted. */
export function substateOf(row: Row<'deployment'>): { readySubstate?: 'STAGED' | 'PROMOTED' } {
  if (row.ready_state !== 'READY' || (row.target !== 'production' && row.promoted_at === null)) return {}
  return { readySubstate: row.promoted_at === null ? 'STAGED' : 'PROMOTED' }
}

/**
 * Endpoints whose creator lost access are on hold: nothing is sent to an address that the team may not control. They are deleted after 30 days
 * without a new owner. docs/webhooks.md: Endpoints without an owner.
 */
import { sql } from 'kysely'
import type { Ctx, OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mailOwners } from '../../platform/mail/owners.ts'
import { PENDING } from '../../platform/outbox/delivery.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

type Reason = NonNullable<Row<'webhook'>['held_reason']>
/** A suspended user may return. */
const SUSPENDED: Reason = 'disabled-by-admin'
type Team = Pick<Row<'account'>, 'id' | 'slug'>
export type EndpointTable = 'webhook' | 'log_drain'

const HELD_RETENTION_MS = 30 * 86_400_000
const TABLES = ['webhook', 'log_drain'] as const

/** Name of an endpoint kind in emails and messages. */
export const ENDPOINT_KIND_NAME: Record<EndpointTable, string> = { webhook: 'webhook', log_drain: 'log drain' }

/**
 * Puts a user's endpoints on a team on hold and emails the team's owners. An endpoint on hold keeps its 30 days. Skips endpoints of installations,
 * which are disabled, and webhooks of integrations, which belong to the integration.
 */
export async function holdEndpointsOf(ctx: OperatorCtx, team: Team, userId: string, reason: Reason): Promise<void> {
  const lines: string[] = []
  for (const table of TABLES) {
    let change = ctx.db
      .updateTable(table)
      .set({ held_at: ctx.now, held_reason: reason })
      .where('account_id', '=', team.id)
      .where('created_by', '=', userId)
      .where('configuration_id', 'is', null)
      // A suspension can be lifted. A lasting loss of access replaces it as the reason.
      .where((eb) =>
        reason === SUSPENDED
          ? eb('held_at', 'is', null)
          : eb.or([eb('held_at', 'is', null), eb('held_reason', '=', SUSPENDED)]),
      )
    if (table === 'webhook') change = change.where('integration_id', 'is', null)
    const rows = await change.returning(['id', 'url']).execute()
    lines.push(...rows.map(({ id, url }) => `  ${ENDPOINT_KIND_NAME[table]} ${id}, which goes to ${hostOf(url)}`))
  }
  const apps = await appsHeardBy(ctx, team, userId)
  if (lines.length + apps.length > 0) await tellOwners(ctx, team, userId, reason, lines, apps)
}

/** Integrations whose webhook URL this user set. They continue, because they belong to the team. */
async function appsHeardBy(ctx: OperatorCtx, team: Team, userId: string): Promise<string[]> {
  const rows = await ctx.db
    .selectFrom('webhook')
    .innerJoin('integration', 'integration.id', 'webhook.integration_id')
    .select(['integration.id', 'webhook.url'])
    .where('webhook.account_id', '=', team.id)
    .where('webhook.created_by', '=', userId)
    .orderBy('integration.id')
    .execute()
  return rows.map(({ id, url }) => `  integration ${id}, whose webhook goes to ${hostOf(url)}`)
}

async function tellOwners(
  ctx: OperatorCtx,
  team: Team,
  userId: string,
  reason: Reason,
  lines: string[],
  apps: string[],
): Promise<void> {
  const user = await ctx.db.selectFrom('account').select('slug').where('id', '=', userId).executeTakeFirst()
  const person = user?.slug ?? userId
  const ofPeople = [
    `${person} ${WHY[reason]}. ${person} created these webhooks and log drains of the team ${team.slug}:`,
    '',
    ...lines,
    '',
    'They are on hold: nothing is sent to them. Events stay pending; log lines are dropped. When an OWNER of the team becomes the owner, the pending events are sent.',
    `${reason === SUSPENDED ? 'Until then they stay on hold' : 'After 30 days they are removed'}. Become the owner only of those whose address you know:`,
    `${ctx.deps.origin()}/integrations/installed?teamId=${team.id}`,
    '',
  ]
  const ofApps = [
    `${person} ${WHY[reason]}. ${person} set the webhook URL of these integrations of the team ${team.slug}. Their webhooks go on.`,
    'Check that you know the address:',
    '',
    ...apps,
  ]
  const text = [...(lines.length > 0 ? ofPeople : []), ...(apps.length > 0 ? ofApps : [])].join('\n')
  await mailOwners(ctx, team.id, { subject: `Webhooks and log drains of ${team.slug} need an owner`, text })
}

/** Returns the host of an endpoint, for an email. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'its address'
}

const WHY: Record<Reason, string> = {
  'original-owner-left-the-team': 'left the team',
  'original-owner-role-downgraded': 'may not have webhooks and log drains any more',
  'disabled-by-admin': 'is suspended by the operator',
}

/**
 * Makes the caller the owner of an endpoint. If it was on hold, it resumes and pending events are sent, oldest first. Refuses: bad_request 400 (it
 * belongs to an installation), not_found 404 (removed meanwhile).
 */
export async function transferEndpointOwnership(
  ctx: Ctx,
  table: EndpointTable,
  { id, configuration_id }: Pick<Row<'webhook'>, 'id' | 'configuration_id'>,
): Promise<void> {
  if (configuration_id !== null) {
    refuse(
      'bad_request',
      `Invalid request: the ${ENDPOINT_KIND_NAME[table]} belongs to the installation ${configuration_id}. Take ownership of the installation.`,
    )
  }
  const rows = await ctx.db
    .updateTable(table)
    .set({ created_by: ctx.caller.userId, held_at: null, held_reason: null, updated_at: ctx.now })
    .where('id', '=', id)
    .where('account_id', '=', ctx.account.id)
    .returning('id')
    .executeTakeFirst()
  if (rows === undefined) refuse('not_found', `The ${ENDPOINT_KIND_NAME[table]} "${id}" was not found.`)
  ctx.deps.wakeups.deliveries()
}

/** Lists the endpoints on hold, webhooks before log drains, each oldest first. `goesAt`: when it is removed; undefined for one of a suspended user. */
export async function listHeldEndpoints(ctx: Pick<OperatorCtx, 'db'>, accountId: string) {
  const endpoints = []
  for (const table of TABLES) {
    const rows = await ctx.db
      .selectFrom(table)
      .select(['id', 'url', 'held_at', 'held_reason', 'configuration_id'])
      .where('account_id', '=', accountId)
      .where('held_at', 'is not', null)
      .orderBy('created_stamp')
      .execute()
    endpoints.push(
      ...rows.map(({ url, ...row }) => ({
        ...row,
        table,
        host: hostOf(url),
        goesAt: row.held_reason === SUSPENDED ? undefined : row.held_at! + HELD_RETENTION_MS,
      })),
    )
  }
  return endpoints
}

/** Sweep: deletes endpoints that got no new owner in 30 days. The worker drops their pending deliveries. */
export async function purgeHeldEndpoints(ctx: OperatorCtx, limit: number): Promise<number> {
  let count = 0
  for (const table of TABLES) {
    const old = ctx.db
      .selectFrom(table)
      .select('id')
      .where('held_at', '<=', ctx.now - HELD_RETENTION_MS)
      // A suspended user may return, so their endpoints stay.
      .where('held_reason', '!=', SUSPENDED)
      .limit(limit - count)
    const rows = await ctx.db.deleteFrom(table).where('id', 'in', old).returning('id').execute()
    count += rows.length
  }
  return count
}

/** Sweep: deletes webhooks of removed installations once no delivery is pending for them. */
export async function purgeEndedWebhooks(ctx: OperatorCtx, limit: number): Promise<number> {
  const rows = await ctx.db
    .selectFrom('webhook')
    .select('id')
    .where('ended_at', '>=', 0)
    // A scalar subquery runs per webhook. PostgreSQL would turn `not exists` into a join with all deliveries.
    .where((eb) => {
      const pending = eb.selectFrom('delivery').select('delivery.id').where(PENDING)
      const itsOwn = pending.whereRef('delivery.account_id', '=', 'webhook.account_id')
      return eb(itsOwn.whereRef('delivery.endpoint_id', '=', 'webhook.id').limit(sql.lit(1)), 'is', null)
    })
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await ctx.db.deleteFrom('webhook').where('id', 'in', ids).execute()
  return ids.length
}

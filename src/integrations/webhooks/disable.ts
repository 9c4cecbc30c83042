/** Disables an endpoint that keeps failing or overflows, and emails its users. docs/webhooks.md: Retries, Backlog limit. */
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { type MailMessage, queueMail } from '../../platform/mail/mail.ts'
import { ENDPOINT_KIND_NAME, type EndpointTable, hostOf } from './held.ts'

/** Per account, pending and held together. docs/webhooks.md: Backlog limit. */
export const MAX_PENDING_DELIVERIES = 10_000

type Reason = NonNullable<Row<'webhook'>['disabled_reason']>
type Writing = Pick<OperatorCtx, 'db' | 'deps' | 'now'>
type Endpoint = Pick<Row<'webhook'>, 'id' | 'account_id' | 'url' | 'created_by'>

/** Disables an endpoint and emails its users. Does nothing for a disabled one. */
export async function disableEndpoint(
  ctx: Writing,
  table: EndpointTable,
  endpoint: Endpoint,
  reason: Reason,
): Promise<void> {
  const row = await ctx.db
    .updateTable(table)
    .set({ disabled_at: ctx.now, disabled_reason: reason })
    .where('id', '=', endpoint.id)
    .where('disabled_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return
  const what = ENDPOINT_KIND_NAME[table]
  const host = hostOf(endpoint.url)
  const text = [
    `The ${what} ${endpoint.id}, which goes to ${host}, is disabled: ${WHY[reason]}.`,
    '',
    'Nothing is sent to it any more. Events that happen meanwhile are not sent later.',
    ...('sealed_headers' in row ? [] : howToGoOn(row)),
  ].join('\n')
  await mailEndpointOwners(ctx, endpoint, { subject: `A ${what} is disabled: ${host}`, text })
}

/** Emails the creator of an endpoint or, after they left the account, its owners. */
export async function mailEndpointOwners(
  ctx: Writing,
  { account_id, created_by }: Pick<Endpoint, 'account_id' | 'created_by'>,
  letter: Omit<MailMessage, 'recipient'>,
): Promise<void> {
  for (const recipient of await addressesOf(ctx.db, account_id, created_by))
    await queueMail(ctx, { recipient, ...letter })
}

function howToGoOn({ id, integration_id }: Row<'webhook'>): string[] {
  const enable =
    integration_id === null
      ? `PATCH /v1/webhooks/${id} {"enabled": true}`
      : `set the webhookUrl of the integration ${integration_id} again`
  return [
    `Once it works again, enable it: ${enable}.`,
    `Deliveries that failed or were dropped are listed for 30 days. You can send each of them again: GET /v1/webhooks/${id}/deliveries`,
  ]
}

const WHY: Record<Reason, string> = {
  gone: 'it responded 410, which means that it was removed permanently',
  failing: 'nothing could be delivered to it in five days',
  overflow: `more than ${MAX_PENDING_DELIVERIES.toLocaleString('en')} deliveries of the account were pending, most of them for this endpoint. Those were dropped`,
}

async function addressesOf(db: Queries, account_id: string, created_by: string | null): Promise<string[]> {
  const people = await db
    .selectFrom('account')
    .leftJoin('member', (join) => join.onRef('member.user_id', '=', 'account.id').on('member.team_id', '=', account_id))
    .select(['account.id', 'account.email', 'member.role'])
    .where((eb) => eb.or([eb('account.id', '=', account_id), eb('member.team_id', '=', account_id)]))
    .execute()
  const maker = people.filter(({ id }) => id === created_by)
  const recipients = maker.length > 0 ? maker : people.filter(({ id, role }) => id === account_id || role === 'OWNER')
  return recipients.flatMap(({ email }) => (email === null ? [] : [email]))
}

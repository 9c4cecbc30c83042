/** Emails to users who can confirm added scopes. Specification: Integration configuration. */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { IS_TOLD } from '../../platform/mail/owners.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { addedScopes } from '../../platform/permissions/scope-levels.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'

type Pending = { installationId: string; account: string; scopes: string[] }

/** Queues one email per user with the pending scopes of every installation that they can confirm. */
export async function mailPendingScopes(ctx: OperatorCtx, integration: Row<'integration'>): Promise<void> {
  const requested = scopesOf(integration)
  const byRecipient = new Map<string, Pending[]>()
  for (const row of await readConfirmers(ctx, integration.id)) {
    const scopes = addedScopes(requested, scopesOf(row))
    if (scopes.length === 0 || row.email === null) continue
    const others = byRecipient.get(row.email) ?? []
    byRecipient.set(row.email, [...others, { installationId: row.id, account: row.slug, scopes }])
  }
  const name = toSingleLine(integration.name)
  for (const [recipient, pending] of byRecipient) {
    await queueMail(ctx, {
      topic: `scopes ${integration.id}`,
      news: fingerprint(JSON.stringify(pending)),
      recipient,
      subject: `${name} requests more access`,
      text: letterOf(ctx, name, pending),
    })
  }
}

/** One row per installation and recipient: the user of a personal account, or the OWNERs of a team, or all members of a team without one. */
async function readConfirmers(ctx: OperatorCtx, integrationId: string) {
  const installations = ctx.db
    .selectFrom('configuration')
    .innerJoin('account', 'account.id', 'configuration.account_id')
    .where('configuration.integration_id', '=', integrationId)
    .where('configuration.deleted_at', 'is', null)
    .select(['configuration.id', 'configuration.scopes_json', 'account.slug'])
  const personal = installations.where('account.kind', '=', 'user').select('account.email')
  const ofTeams = installations
    .innerJoin('member', 'member.team_id', 'account.id')
    .innerJoin('account as owner', 'owner.id', 'member.user_id')
    .where(IS_TOLD)
    .where('owner.suspended_at', 'is', null)
    .select('owner.email')
  return [...(await personal.execute()), ...(await ofTeams.execute())]
}

function letterOf({ deps }: OperatorCtx, name: string, pending: readonly Pending[]): string {
  const parts = pending.map(({ installationId, account, scopes }) => [
    `On ${account}:`,
    ...scopes.map((scope) => `  ${scope}`),
    'Review and confirm it here:',
    `${deps.origin()}/integrations/confirm/${installationId}`,
    '',
  ])
  return [
    `The integration ${name} requests more access than it has.`,
    '',
    ...parts.flat(),
    'Until you confirm, it keeps the access that it has.',
  ].join('\n')
}

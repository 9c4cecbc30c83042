import type { OperatorCtx } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { Integration } from './schema.ts'

/** Formats integrations with webhook and ids of secrets, never a secret. */
export async function showIntegrations(ctx: OperatorCtx, rows: Row<'integration'>[]): Promise<Integration[]> {
  if (rows.length === 0) return []
  const ids = rows.map((row) => row.id)
  const webhooks = await ctx.db
    .selectFrom('webhook')
    .select(['id', 'integration_id', 'url'])
    .where('integration_id', 'in', ids)
    .execute()
  const secrets = await ctx.db
    .selectFrom('integration_secret')
    .select(['integration_id', 'id', 'created_stamp'])
    .where('integration_id', 'in', ids)
    .orderBy('created_stamp')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    clientId: row.id,
    teamId: row.team_id,
    slug: row.slug,
    name: row.name,
    redirectUrl: row.redirect_url,
    webhookId: webhooks.find((webhook) => webhook.integration_id === row.id)?.id ?? null,
    webhookUrl: webhooks.find((webhook) => webhook.integration_id === row.id)?.url ?? null,
    logoUrl: row.logo_url,
    scopes: JSON.parse(row.scopes_json) as string[],
    secrets: secrets
      .filter((secret) => secret.integration_id === row.id)
      .map((secret) => ({ id: secret.id, createdAt: stampToMs(secret.created_stamp) })),
    installUrl: `${ctx.deps.origin()}/integrations/${row.slug}/new`,
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
  }))
}

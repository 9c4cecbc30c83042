/** Client secrets: one, or two during a rotation. Stored as a hash, and encrypted because they sign webhooks. */
import { sql } from 'kysely'
import type { Input, OperatorCtx } from '../../context.ts'
import { fingerprint, newClientSecret, newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'

const MAX_SECRETS = 2

/** Creates a secret and returns it once. An older secret still works. Refuses: secrets_full 409 (two exist). */
export async function addSecret(
  ctx: Pick<OperatorCtx, 'db' | 'deps' | 'stamp'>,
  { id: integrationId, team_id }: Pick<Row<'integration'>, 'id' | 'team_id'>,
): Promise<{ id: string; clientSecret: string }> {
  const id = newId('sec')
  const clientSecret = newClientSecret()
  const box = await openSecretBoxToWrite(ctx, team_id)
  const row = await ctx.db
    .insertInto('integration_secret')
    .columns(['integration_id', 'id', 'hash', 'sealed_secret', 'created_stamp'])
    .expression(
      ctx.db
        .selectNoFrom([
          sql<string>`${integrationId}`.as('integration_id'),
          sql<string>`${id}`.as('id'),
          sql<string>`${fingerprint(clientSecret)}`.as('hash'),
          sql<string>`${box.sealSecret('client-secret', id, clientSecret)}`.as('sealed_secret'),
          sql<number>`cast(${ctx.stamp} as bigint)`.as('created_stamp'),
        ])
        .where(countOf(integrationId), '<', MAX_SECRETS),
    )
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) refuse('secrets_full')
  return { id, clientSecret }
}

/** Revokes a secret at once. Refuses: not_found 404, last_secret 409 (an integration needs one). */
export async function deleteSecret(
  ctx: OperatorCtx,
  { id: integrationId }: Row<'integration'>,
  { params }: Input,
): Promise<void> {
  const secretId = params.secretId ?? ''
  const row = await ctx.db
    .deleteFrom('integration_secret')
    .where('integration_id', '=', integrationId)
    .where('id', '=', secretId)
    .where(countOf(integrationId), '>', 1)
    .returning('id')
    .executeTakeFirst()
  if (row !== undefined) return
  const rows = await ctx.db
    .selectFrom('integration_secret')
    .select('id')
    .where('integration_id', '=', integrationId)
    .where('id', '=', secretId)
    .executeTakeFirst()
  if (rows === undefined) refuse('not_found', `The integration has no secret "${secretId.slice(0, 100)}".`)
  refuse('last_secret')
}

function countOf(integrationId: string) {
  return sql<number>`(select count(*) from integration_secret as live where live.integration_id = ${integrationId})`
}

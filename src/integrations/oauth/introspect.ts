/** Token introspection (RFC 7662) and revocation (RFC 7009). Tokens of other clients are treated as unknown. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { abortInstallationWrites } from '../../platform/access/installation.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { authenticateClient, fieldOf } from './client.ts'
import type { Introspection, TokenForm } from './schema.ts'

type TokenInput = Input<unknown, Static<typeof TokenForm>>

/** Returns whether a token is active, and its granted scopes. Refuses: invalid_client 401, invalid_request 400. */
export async function introspectToken(
  ctx: OperatorCtx,
  _: undefined,
  input: TokenInput,
): Promise<Static<typeof Introspection>> {
  const integration = await authenticateClient(ctx, input)
  const row = await selectOwnToken(ctx, integration.id, input.body)
    .select(['token.created_stamp', 'token.team_id', 'configuration.user_id', 'configuration.scopes_json'])
    .where('configuration.deleted_at', 'is', null)
    .where('configuration.disabled_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined) return { active: false }
  return {
    active: true,
    scope: scopesOf(row).join(' '),
    client_id: integration.id,
    token_type: 'Bearer',
    iat: Math.floor(stampToMs(row.created_stamp) / 1000),
    iss: ctx.deps.origin(),
    sub: row.user_id,
    installation_id: row.id,
    user_id: row.user_id,
    team_id: row.team_id,
  }
}

/**
 * Revokes a token of the client; any other token gets the same response. Returns the installation for the audit log. Refuses: invalid_client 401,
 * invalid_request 400.
 */
export async function revokeClientToken(
  ctx: OperatorCtx,
  _: undefined,
  input: TokenInput,
): Promise<{ id: string } | undefined> {
  const integration = await authenticateClient(ctx, input)
  const installation = await selectOwnToken(ctx, integration.id, input.body).executeTakeFirst()
  if (installation === undefined) return undefined
  await abortInstallationWrites(ctx.db, installation.id)
  await ctx.db
    .deleteFrom('token')
    .where('hash', '=', fingerprint(fieldOf(input.body, 'token')))
    .execute()
  return { id: installation.id }
}

/** The installation of the form's token, if it belongs to this integration. */
function selectOwnToken({ db }: OperatorCtx, integrationId: string, form: TokenInput['body']) {
  return db
    .selectFrom('token')
    .innerJoin('configuration', 'configuration.id', 'token.configuration_id')
    .select('configuration.id')
    .where('token.hash', '=', fingerprint(fieldOf(form, 'token')))
    .where('configuration.integration_id', '=', integrationId)
}

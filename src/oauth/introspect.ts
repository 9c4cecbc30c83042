/** What an app may ask and say about its own tokens: RFC 7662 and RFC 7009. Another's token is to it like no token. */
import type { Static } from 'typebox'
import { endWritesOf } from '../access/installation.ts'
import { momentOf } from '../clock.ts'
import type { Input, OperatorCtx } from '../context.ts'
import { fingerprint } from '../ids.ts'
import { authenticateClient, fieldOf } from './client.ts'
import type { Introspected, TokenForm } from './schema.ts'

type Asked = Input<unknown, Static<typeof TokenForm>>

/** Says whether a token acts now, and what it was granted. Refuses: invalid_client 401, invalid_request 400. */
export async function introspectToken(
  ctx: OperatorCtx,
  _: undefined,
  input: Asked,
): Promise<Static<typeof Introspected>> {
  const integration = await authenticateClient(ctx, input)
  const found = await ctx.db
    .selectFrom('token')
    .innerJoin('configuration', 'configuration.id', 'token.configuration_id')
    .select(['token.created_stamp', 'token.team_id', 'configuration.id', 'configuration.scopes_json'])
    .select('configuration.user_id')
    .where('token.hash', '=', fingerprint(fieldOf(input.body, 'token')))
    .where('configuration.integration_id', '=', integration.id)
    .where('configuration.deleted_at', 'is', null)
    .where('configuration.disabled_at', 'is', null)
    .executeTakeFirst()
  if (found === undefined) return { active: false }
  return {
    active: true,
    scope: (JSON.parse(found.scopes_json) as string[]).join(' '),
    client_id: integration.id,
    token_type: 'Bearer',
    iat: Math.floor(momentOf(found.created_stamp) / 1000),
    iss: ctx.deps.origin(),
    sub: found.user_id,
    installation_id: found.id,
    user_id: found.user_id,
    team_id: found.team_id,
  }
}

/** Ends a token of the client's own; of what is none, nothing is said. Gives the installation for the audit log. Refuses: invalid_client 401, invalid_request 400. */
export async function revokeToken(ctx: OperatorCtx, _: undefined, input: Asked): Promise<{ id: string } | undefined> {
  const integration = await authenticateClient(ctx, input)
  const hash = fingerprint(fieldOf(input.body, 'token'))
  const own = await ctx.db
    .selectFrom('token')
    .innerJoin('configuration', 'configuration.id', 'token.configuration_id')
    .select('configuration.id')
    .where('token.hash', '=', hash)
    .where('configuration.integration_id', '=', integration.id)
    .executeTakeFirst()
  if (own === undefined) return undefined
  await endWritesOf(ctx.db, own.id)
  await ctx.db.deleteFrom('token').where('hash', '=', hash).execute()
  return own
}

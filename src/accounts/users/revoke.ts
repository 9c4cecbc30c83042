import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import { endToken } from '../tokens/tokens.ts'
import type { RevokeToken } from './schema.ts'

/** Revokes the token with this value. The response does not reveal whether it existed. */
export async function revokeTokenByValue(
  ctx: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, Static<typeof RevokeToken>>,
): Promise<void> {
  const hash = fingerprint(body.token)
  const tokens = ctx.db
    .selectFrom('token')
    .select(['id', 'user_id'])
    .where('hash', 'in', [hash, `suspended ${hash}`])
  const token = await tokens.executeTakeFirst()
  if (token !== undefined) await endToken(ctx, token)
}

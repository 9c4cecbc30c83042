/** Operation 21: a code for a token. Specification: Code exchange; docs/spec/decisions.md: Integrations; docs/integrations.md: The exchange of codes. */
import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import { endWritesOf } from '../access/installation.ts'
import { STAMPS_PER_MS } from '../clock.ts'
import type { Input, OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { countFailure } from '../http/failure-limits.ts'
import { fingerprint, newId, newToken } from '../ids.ts'
import { record } from '../outbox/outbox.ts'
import { refuse } from '../refusal.ts'
import { authenticateClient, fieldOf } from './client.ts'
import type { ExchangeForm, GivenToken } from './schema.ts'

type Exchange = Input<unknown, Static<typeof ExchangeForm>>

/** What a code is asked with, besides who asks. */
type Asked = { codeHash: string; redirectUri: string; verifier: string | undefined }

/**
 * Before the transaction: who asks, and whether the code was used before this request began. A replay ends the token that the
 * first use gave, and that stays although this request is refused; so it is a write of its own. A request that was under way
 * when the code was used has lost a race, and ends nothing. Refuses as `exchangeCode` does.
 */
export async function refuseReplay(ctx: OperatorCtx, _: undefined, input: Exchange): Promise<void> {
  // When the request came: it may have waited for its turn since, while another one used the code.
  const began = ctx.now * STAMPS_PER_MS
  const integration = await authenticateClient(ctx, input)
  const { codeHash, redirectUri } = askedOf(input.body)
  const used = await ctx.db
    .selectFrom('authorization_code')
    .select(['configuration_id', 'token_id', 'used_stamp'])
    .where('hash', '=', codeHash)
    .where('integration_id', '=', integration.id)
    .where('redirect_uri', '=', redirectUri)
    .where('used_stamp', 'is not', null)
    .executeTakeFirst()
  if (used === undefined) return
  if (used.used_stamp! > began) refuse('invalid_grant')
  await ctx.deps.db.write(async (db) => {
    await endWritesOf(db, used.configuration_id)
    await db
      .deleteFrom('token')
      .where('id', '=', used.token_id ?? '')
      .execute()
    await record({ ...ctx, db, stamp: ctx.deps.clock.stamp() }, [], 'endReplayedToken', used.configuration_id, [])
  })
  ctx.deps.log.warn(
    { configurationId: used.configuration_id },
    'a code was used again; the token that it gave was ended',
  )
  refuse('invalid_grant')
}

/**
 * Gives the token of an installation for its code. One statement decides: the code of this client, unused, not expired, for
 * this redirect_uri and this verifier, of an installation that is there. Refuses: invalid_client 401, invalid_grant 400,
 * invalid_request 400, rate_limited 429 (many failures), integration_configuration_disabled 403 (the code stays unused: after
 * an owner of the team took the installation over it can still be exchanged, until it expires). Specification: Errors.
 */
export async function exchangeCode(
  ctx: OperatorCtx,
  _: undefined,
  input: Exchange,
): Promise<Static<typeof GivenToken>> {
  const integration = await authenticateClient(ctx, input)
  const tokenId = newId('tok')
  const code = await useCode(ctx, integration, askedOf(input.body), tokenId)
  if (code === undefined) {
    countFailure(ctx.deps, 'code-failures', `${integration.id} ${input.address}`)
    refuse('invalid_grant')
  }
  const configuration = await ctx.db
    .selectFrom('configuration')
    .innerJoin('account', 'account.id', 'configuration.account_id')
    .select(['account.id', 'account.kind', 'configuration.completed_at', 'configuration.disabled_at'])
    .where('configuration.id', '=', code.configuration_id)
    .executeTakeFirstOrThrow()
  if (configuration.disabled_at !== null) refuse('integration_configuration_disabled')
  const teamId = configuration.kind === 'team' ? configuration.id : null
  const token = newToken()
  await ctx.db
    .insertInto('token')
    .values({
      id: tokenId,
      hash: fingerprint(token),
      user_id: code.user_id,
      team_id: teamId,
      name: integration.name,
      created_stamp: ctx.stamp,
      configuration_id: code.configuration_id,
    })
    .execute()
  if (configuration.completed_at === null) {
    const columns = { completed_at: ctx.now }
    await ctx.db.updateTable('configuration').set(columns).where('id', '=', code.configuration_id).execute()
  }
  // The audit line names the installation by `id`, which does not leave.
  const given = {
    id: code.configuration_id,
    token_type: 'Bearer',
    access_token: token,
    installation_id: code.configuration_id,
    user_id: code.user_id,
    team_id: teamId,
  }
  return given
}

function askedOf(form: Static<typeof ExchangeForm>): Asked {
  const asked = {
    codeHash: fingerprint(fieldOf(form, 'code')),
    redirectUri: fieldOf(form, 'redirect_uri'),
    verifier: form.code_verifier,
  }
  if ((form.grant_type ?? 'authorization_code') !== 'authorization_code') {
    refuse(
      'invalid_request',
      'The parameter `grant_type` can only be authorization_code, which is what it is when absent.',
    )
  }
  return asked
}

/** A verifier without a challenge is refused too: the consent may have been begun by somebody else (RFC 9700, 2.1.1). */
async function useCode(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  { codeHash, redirectUri, verifier }: Asked,
  tokenId: string,
): Promise<Pick<Row<'authorization_code'>, 'configuration_id' | 'user_id'> | undefined> {
  const challenge = verifier === undefined ? null : hash('sha256', verifier, 'base64url')
  return ctx.db
    .updateTable('authorization_code')
    .set({ used_stamp: ctx.stamp, token_id: tokenId })
    .where('hash', '=', codeHash)
    .where('used_stamp', 'is', null)
    .where('expires_at', '>', ctx.now)
    .where('integration_id', '=', integration.id)
    .where('redirect_uri', '=', redirectUri)
    .where('code_challenge', challenge === null ? 'is' : '=', challenge)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('configuration')
          .select('configuration.id')
          .whereRef('configuration.id', '=', 'authorization_code.configuration_id')
          .where('configuration.deleted_at', 'is', null),
      ),
    )
    .returning(['configuration_id', 'user_id'])
    .executeTakeFirst()
}

/** Operation 21: exchanges a code for a token. Specification: Code exchange; docs/integrations.md. */
import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { abortInstallationWrites } from '../../platform/access/installation.ts'
import { canStillGive } from '../../platform/access/offers.ts'
import { fingerprint, newId, newToken } from '../../platform/base/ids.ts'
import { countFailure } from '../../platform/http/failure-limits.ts'
import { recordWrite } from '../../platform/outbox/outbox.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { authenticateClient, fieldOf } from './client.ts'
import { type CodeExchange, findRedeemedCode, hadBegun, redeemCode } from './codes.ts'
import type { ExchangedToken, ExchangeForm } from './schema.ts'

type Exchange = Input<unknown, Static<typeof ExchangeForm>>

/**
 * Authenticates the client and revokes the token of a replayed code (RFC 6749, 4.1.2). Runs before the transaction, because the revocation must
 * survive the refusal. A request from before the code was used only lost a race and revokes nothing; neither does one whose token has ended.
 * Refuses as `exchangeCode` does.
 */
export async function refuseReplay(ctx: OperatorCtx, _: undefined, input: Exchange): Promise<void> {
  const integration = await authenticateClient(ctx, input)
  const used = await findRedeemedCode(ctx, integration.id, proofOf(input.body))
  if (used === undefined) return
  // By its arrival: the request may have waited while another one used the code.
  if (await hadBegun(ctx, used.usedStamp)) refuse('invalid_grant')
  const { installationId, tokenId } = used
  const token = ctx.db
    .selectFrom('token')
    .select('id')
    .where('id', '=', tokenId ?? '')
  if ((await token.executeTakeFirst()) !== undefined) await endReplayedToken(ctx, installationId, tokenId!)
  refuse('invalid_grant')
}

async function endReplayedToken(ctx: OperatorCtx, installationId: string, tokenId: string): Promise<void> {
  const isEnded = await ctx.deps.db.write(async (db) => {
    await abortInstallationWrites(db, installationId)
    const ended = await db.deleteFrom('token').where('id', '=', tokenId).returning('id').executeTakeFirst()
    // A client has no budget of entries, so a replay that ends nothing leaves none.
    if (ended === undefined) return false
    await recordWrite({ ...ctx, db, stamp: ctx.deps.clock.stamp() }, [], 'endReplayedToken', installationId, [])
    return true
  })
  if (isEnded) ctx.deps.log.warn({ installationId }, 'a code was used again; its token was revoked')
}

/**
 * Redeems a code for an installation token, at most once. The response lists the granted scopes, because the user decides them (RFC 6749 5.1).
 * Refuses: invalid_client 401, invalid_grant 400 (unknown, used or expired code; another client, redirect URI or verifier; the installation is
 * removed), invalid_request 400, rate_limited 429 (many failures), integration_configuration_disabled 403 (the code stays valid for a new owner).
 */
export async function exchangeCode(
  ctx: OperatorCtx,
  _: undefined,
  input: Exchange,
): Promise<Static<typeof ExchangedToken>> {
  const integration = await authenticateClient(ctx, input)
  const tokenId = newId('tok')
  const code = await redeemCode(ctx, integration.id, proofOf(input.body), tokenId)
  if (code === undefined) {
    await countFailure(ctx.deps, 'code-failures', `${integration.id} ${input.address}`)
    refuse('invalid_grant')
  }
  const installation = await readActive(ctx, code.configuration_id)
  const { id } = installation
  const teamId = installation.kind === 'team' ? installation.account_id : null
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
      configuration_id: id,
    })
    .execute()
  if (installation.completed_at === null) {
    await ctx.db.updateTable('configuration').set({ completed_at: ctx.now }).where('id', '=', id).execute()
  }
  // The audit entry uses `id` as its subject. The reply schema does not declare it, so it is not sent.
  const exchanged = {
    id,
    token_type: 'Bearer',
    access_token: token,
    installation_id: id,
    user_id: code.user_id,
    team_id: teamId,
    scope: scopesOf(installation).join(' '),
  }
  return exchanged
}

/** Reads the installation of a code, whose owner must still have access. Refuses: integration_configuration_disabled 403. */
async function readActive(ctx: OperatorCtx, installationId: string) {
  const installation = await ctx.db
    .selectFrom('configuration')
    .innerJoin('account', 'account.id', 'configuration.account_id')
    .select(['configuration.id', 'configuration.completed_at', 'configuration.disabled_at'])
    .select(['configuration.user_id', 'configuration.scopes_json', 'account.id as account_id', 'account.kind'])
    .where('configuration.id', '=', installationId)
    .executeTakeFirstOrThrow()
  if (installation.disabled_at !== null) refuse('integration_configuration_disabled')
  const giver = { userId: installation.user_id, accountId: installation.account_id, tokenId: null }
  if (!(await canStillGive(ctx, 'authorization code', giver))) {
    refuse('integration_configuration_disabled', 'The owner of the installation may not act for this account now.')
  }
  return installation
}

function proofOf(form: Static<typeof ExchangeForm>): CodeExchange {
  const proof = {
    codeHash: fingerprint(fieldOf(form, 'code')),
    redirectUri: fieldOf(form, 'redirect_uri'),
    challenge: form.code_verifier === undefined ? null : hash('sha256', form.code_verifier, 'base64url'),
  }
  if ((form.grant_type ?? 'authorization_code') !== 'authorization_code') {
    refuse('invalid_request', 'The parameter `grant_type` must be authorization_code, or absent.')
  }
  return proof
}

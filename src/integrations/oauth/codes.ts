/** Authorization codes: issued at consent, exchanged once within 30 minutes. Specification: Code exchange, Limits. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import { fingerprint, newCode } from '../../platform/base/ids.ts'
import { expirySweep } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { isSqlite } from '../../platform/db/tables.ts'

const CODE_VALID_MS = 30 * 60_000
/** A used code is stored for a day after its expiry, so that a replay still revokes its token. */
const CODE_REMEMBERED_MS = 86_400_000

type Code = Row<'authorization_code'>

/** `challenge`: the S256 hash of the client's verifier; null when it sent none. */
export type CodeExchange = { codeHash: string; redirectUri: string; challenge: string | null }

/** Issues a code to an installation's integration. `challenge`: the PKCE challenge (S256) of the consent, or null. */
export async function issueCode(
  ctx: Pick<OperatorCtx, 'db' | 'now'>,
  integration: Row<'integration'>,
  { installationId, userId, challenge }: { installationId: string; userId: string; challenge: string | null },
): Promise<string> {
  const code = newCode()
  await ctx.db
    .insertInto('authorization_code')
    .values({
      hash: fingerprint(code),
      configuration_id: installationId,
      integration_id: integration.id,
      user_id: userId,
      redirect_uri: integration.redirect_url,
      code_challenge: challenge,
      expires_at: ctx.now + CODE_VALID_MS,
    })
    .execute()
  return code
}

/**
 * Redeems a code for the token `tokenId`, in one statement, so one of several callers wins. Undefined unless the code is this client's, unused and
 * not expired, redirect URI and challenge match, and its installation exists. A verifier for a code without a challenge does not match: an attacker
 * may have started the consent (RFC 9700, 2.1.1).
 */
export async function redeemCode(
  ctx: OperatorCtx,
  integrationId: string,
  { codeHash, redirectUri, challenge }: CodeExchange,
  tokenId: string,
): Promise<Pick<Code, 'configuration_id' | 'user_id'> | undefined> {
  return ctx.db
    .updateTable('authorization_code')
    .set({ used_stamp: isSqlite(ctx.db) ? ctx.stamp : DATABASE_STAMP, token_id: tokenId })
    .where('hash', '=', codeHash)
    .where('used_stamp', 'is', null)
    .where('expires_at', '>', ctx.now)
    .where('integration_id', '=', integrationId)
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

/** Instances have clocks of their own, and this stamp is compared among them. */
const DATABASE_STAMP = sql<number>`floor(extract(epoch from clock_timestamp()) * ${sql.lit(1000 * STAMPS_PER_MS)})::bigint`

const MAX_LOOKS = 5

/**
 * Returns whether a request had begun when a code was used. On PostgreSQL by the clock of the database, whose time is known within one query: where
 * that does not decide, it is read again.
 */
export async function hadBegun({ db, deps: { clock }, now }: OperatorCtx, usedStamp: number): Promise<boolean> {
  if (isSqlite(db)) return usedStamp > now * STAMPS_PER_MS
  for (let round = 0; round < MAX_LOOKS; round++) {
    const since = clock.now()
    const { stamp } = await db.selectNoFrom(DATABASE_STAMP.as('stamp')).executeTakeFirstOrThrow()
    const began = (at: number) => Number(stamp) - (at - now) * STAMPS_PER_MS
    if (usedStamp < began(clock.now() + 1)) return false
    if (usedStamp > began(since - 1)) return true
  }
  return true
}

/** Finds a used code whose client and redirect URI match. */
export async function findRedeemedCode(
  { db }: OperatorCtx,
  integrationId: string,
  { codeHash, redirectUri }: CodeExchange,
): Promise<{ installationId: string; tokenId: string | null; usedStamp: number } | undefined> {
  const row = await db
    .selectFrom('authorization_code')
    .select(['configuration_id', 'token_id', 'used_stamp'])
    .where('hash', '=', codeHash)
    .where('integration_id', '=', integrationId)
    .where('redirect_uri', '=', redirectUri)
    .where('used_stamp', 'is not', null)
    .executeTakeFirst()
  return row && { installationId: row.configuration_id, tokenId: row.token_id, usedStamp: Number(row.used_stamp) }
}

export const purgeOldCodes = expirySweep('authorization_code', CODE_REMEMBERED_MS)

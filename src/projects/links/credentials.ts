/** Credentials of an account for a git provider. The operator sets them; tokens are write-only. docs/git-links.md. */

import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import type { GitAccess, Hook, Provider } from '../../platform/adapters/git.ts'
import { randomText } from '../../platform/base/ids.ts'
import { withoutTrailing } from '../../platform/base/text.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'

const BASE_URLS: Record<Provider, string> = { gitlab: 'https://gitlab.com', bitbucket: 'https://api.bitbucket.org' }

const Url = Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2048, description: 'an http or https URL' })
const Secret = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'visible ASCII characters, without spaces',
})
export const SetGitCredential = Type.Object({
  token: Secret,
  baseUrl: Type.Optional(Url),
  username: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'the user whose password is the token' }),
  ),
  webhookUrl: Type.Unsafe<string>({ ...Url, description: 'where the provider sends pushes: the build system' }),
  webhookSecret: Type.Optional(Secret),
})
export const GitCredential = Type.Object({
  id: Type.String(),
  provider: OneOf('gitlab', 'bitbucket'),
  baseUrl: Type.String(),
  username: Nullable(Type.String()),
  webhookUrl: Type.String(),
  updatedAt: Timestamp,
})

export type Credential = { id: string; access: GitAccess; hook: Hook }

/** Sets or replaces the credential of an account for a provider. Refuses: not_found 404 (no such provider). */
export async function setGitCredential(
  ctx: OperatorCtx,
  account: Row<'account'>,
  { params, body }: Input<unknown, Static<typeof SetGitCredential>>,
): Promise<Static<typeof GitCredential>> {
  const provider = providerOf(params.provider)
  const id = (await findRow(ctx, account.id, provider))?.id ?? `cred_${randomText(24)}`
  const box = await openSecretBoxToWrite(ctx, account.id)
  const columns = {
    base_url: withoutTrailing(body.baseUrl ?? BASE_URLS[provider], '/'),
    username: body.username ?? null,
    sealed_token: box.sealSecret('git-credential', id, body.token),
    webhook_url: body.webhookUrl,
    sealed_webhook_secret:
      body.webhookSecret === undefined ? null : box.sealSecret('git-credential', hookOf(id), body.webhookSecret),
    updated_at: ctx.now,
  }
  const row = await ctx.db
    .insertInto('git_credential')
    .values({ account_id: account.id, provider, id, ...columns })
    .onConflict((conflict) => conflict.columns(['account_id', 'provider']).doUpdateSet(columns))
    .returningAll()
    .executeTakeFirstOrThrow()
  const { base_url: baseUrl, username, webhook_url: webhookUrl, updated_at: updatedAt } = row
  return { id: row.id, provider, baseUrl, username, webhookUrl, updatedAt }
}

/** Removes a credential; its links stay. Refuses: not_found 404. */
export async function deleteGitCredential(ctx: OperatorCtx, account: Row<'account'>, { params }: Input): Promise<void> {
  const provider = providerOf(params.provider)
  const row = await ctx.db
    .deleteFrom('git_credential')
    .where('account_id', '=', account.id)
    .where('provider', '=', provider)
    .returning('id')
    .execute()
  if (row.length === 0) refuse('not_found', `The account has no credential for ${provider}.`)
}

/** Returns the account's decrypted credential for a provider; undefined if missing or broken. */
export async function readCredential(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  accountId: string,
  provider: Provider,
): Promise<Credential | undefined> {
  const row = await findRow(ctx, accountId, provider)
  if (row === undefined) return undefined
  const box = await openSecretBox(ctx, accountId)
  const token = box.openSecret('git-credential', row.id, row.sealed_token)
  const sealed = row.sealed_webhook_secret
  const secret = sealed === null ? null : box.openSecret('git-credential', hookOf(row.id), sealed)
  if (token === undefined || secret === undefined) return undefined
  const access = { baseUrl: row.base_url, username: row.username, token }
  return { id: row.id, access, hook: { url: row.webhook_url, secret } }
}

function findRow(ctx: Pick<OperatorCtx, 'db'>, accountId: string, provider: Provider) {
  return ctx.db
    .selectFrom('git_credential')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('provider', '=', provider)
    .executeTakeFirst()
}

function hookOf(id: string): string {
  return `${id} webhook`
}

function providerOf(text: string | undefined): Provider {
  if (text === 'gitlab' || text === 'bitbucket') return text
  return refuse('not_found', 'Credentials are for gitlab and bitbucket; GitHub needs none.')
}

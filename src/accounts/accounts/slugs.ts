/**
 * Reserved slugs: for 90 days after a rename, only the previous holder can claim the slug. The row stores a hash, because the slug may be the name of
 * a deleted user. docs/accounts.md: Usernames and slugs.
 */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import { isUniqueViolation, rowCount } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

const RESERVED_MS = 90 * 86_400_000
const MAX_RESERVED = 10

type DbCtx = Pick<OperatorCtx, 'db' | 'now'>

/**
 * Claims a slug that is free or reserved by one of `holders`. Reads account and reservation in one snapshot, because a rename writes both. Refuses:
 * slug_taken 409.
 */
export async function claimSlug(ctx: DbCtx, slug: string, ...holders: string[]): Promise<void> {
  const holder = await ctx.db.selectFrom('account').select('id').where('slug', '=', slug).executeTakeFirst()
  if (holder !== undefined && !holders.includes(holder.id)) refuseTaken(slug)
  const reserved = await ctx.db
    .selectFrom('reserved_slug')
    .select(['holder_id', 'expires_at'])
    .where('slug_hash', '=', fingerprint(slug))
    .where('expires_at', '>', ctx.now)
    .execute()
  if (reserved.length === 0) return
  if (!reserved.some(({ holder_id }) => holders.includes(holder_id))) {
    const until = new Date(Math.max(...reserved.map(({ expires_at }) => expires_at))).toISOString().slice(0, 10)
    refuse('slug_taken', `"${slug}" is reserved until ${until} for the user or team that used it before.`)
  }
  await ctx.db.deleteFrom('reserved_slug').where('slug_hash', '=', fingerprint(slug)).execute()
}

/** Writes an account, and maps violations of the unique indexes to errors. Refuses: slug_taken 409, email_taken 409. */
export async function unlessTaken<T>(
  { slug, email }: { slug: string; email: string | null },
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (isUniqueViolation(error, 'account_slug_key')) refuseTaken(slug)
    if (isUniqueViolation(error, 'account_email_key'))
      refuse('email_taken', `A user with the email ${email} already exists.`)
    throw error
  }
}

function refuseTaken(slug: string): never {
  refuse('slug_taken', `"${slug}" is already taken by a user or a team.`)
}

/** Reserves the slug that an account renames away from. Refuses: too_many_slugs 409. */
export async function reserveSlug(ctx: DbCtx, slug: string, holderId: string): Promise<void> {
  const reserved = ctx.db.selectFrom('reserved_slug').where('holder_id', '=', holderId)
  if ((await rowCount(reserved.where('expires_at', '>', ctx.now))) >= MAX_RESERVED) refuse('too_many_slugs')
  await retainSlug(ctx, slug, holderId)
}

/** Reserves the slug of a deleted account, without a limit per holder. */
export async function retainSlug(ctx: DbCtx, slug: string, holderId: string): Promise<void> {
  const until = { expires_at: ctx.now + RESERVED_MS }
  await ctx.db
    .insertInto('reserved_slug')
    .values({ id: fingerprint(`${slug} ${holderId}`), slug_hash: fingerprint(slug), holder_id: holderId, ...until })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(until))
    .execute()
}

/** Recovery codes: ten per user, shown once, each single-use. docs/sign-in-and-consent.md: Second factors. */
import { randomBytes } from 'node:crypto'
import { fingerprint } from '../../platform/base/ids.ts'
import { type Queries, rowCount } from '../../platform/db/db.ts'

const COUNT = 10
/** Without i, l, o and u, to avoid misread characters and words. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 80 bits, so a fast hash is enough. */
const LENGTH = 16

/** Replaces the recovery codes and returns the new ones. Only hashes are stored, so they cannot be shown again. */
export async function generateRecoveryCodes(db: Queries, userId: string): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode)
  await removeRecoveryCodes(db, userId)
  await db
    .insertInto('recovery_code')
    .values(codes.map((code) => ({ hash: hashOf(userId, code), user_id: userId })))
    .execute()
  return codes
}

/** Returns the hash of a valid code. Undefined when it is unknown, used or of another user. */
export async function checkRecoveryCode(db: Queries, userId: string, typed: string): Promise<string | undefined> {
  const mine = db.selectFrom('recovery_code').select('hash').where('hash', '=', hashOf(userId, typed))
  return (await mine.where('user_id', '=', userId).executeTakeFirst())?.hash
}

/** Consumes a code of the user. False when it is of another user or used. Of concurrent calls, one succeeds. */
export async function consumeRecoveryCode(db: Queries, userId: string, hash: string): Promise<boolean> {
  const used = db.deleteFrom('recovery_code').where('hash', '=', hash).where('user_id', '=', userId)
  return (await used.returning('hash').executeTakeFirst()) !== undefined
}

/** Counts the unused codes. */
export function countRecoveryCodes(db: Queries, userId: string): Promise<number> {
  return rowCount(db.selectFrom('recovery_code').where('user_id', '=', userId))
}

/** Removes all codes of a user. */
export async function removeRecoveryCodes(db: Queries, userId: string): Promise<void> {
  await db.deleteFrom('recovery_code').where('user_id', '=', userId).execute()
}

/** `abcd-efgh-jkmn-pqrs`. The alphabet has 32 characters, so five bits of a byte select one without bias. */
function newCode(): string {
  const text = [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte & 31]).join('')
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Ignores case and hyphens and reads o as 0. */
function hashOf(userId: string, typed: string): string {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return fingerprint(`${userId} ${code}`)
}

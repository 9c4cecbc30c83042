/** Recovery codes: ten for each person, shown once, each used once. docs/sign-in-and-consent.md: Second factors. */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { fingerprint } from '../../platform/base/ids.ts'
import type { Queries } from '../../platform/db/db.ts'

const COUNT = 10
/** Without i, l, o and u: nobody mixes them up, and no word comes out. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 80 bits, so a fast hash is enough. */
const LENGTH = 16

/** Makes new codes in the place of the old ones. They are kept as hashes, so this is the one time that they are seen. */
export async function generateRecoveryCodes(db: Queries, userId: string): Promise<string[]> {
  const codes = Array.from({ length: COUNT }, newCode)
  await removeRecoveryCodes(db, userId)
  await db
    .insertInto('recovery_code')
    .values(codes.map((code) => ({ hash: hashOf(userId, code), user_id: userId })))
    .execute()
  return codes
}

/** The hash of a code that was typed; undefined: it is unknown, of somebody else, or used. */
export async function checkRecoveryCode(db: Queries, userId: string, typed: string): Promise<string | undefined> {
  const mine = db.selectFrom('recovery_code').select('hash').where('hash', '=', hashOf(userId, typed))
  return (await mine.where('user_id', '=', userId).executeTakeFirst())?.hash
}

/** Uses a code of this person up. False: it is of somebody else, or was used meanwhile. Of several at once one is true. */
export async function consumeRecoveryCode(db: Queries, userId: string, hash: string): Promise<boolean> {
  const used = db.deleteFrom('recovery_code').where('hash', '=', hash).where('user_id', '=', userId)
  return (await used.returning('hash').executeTakeFirst()) !== undefined
}

/** How many codes are left. */
export async function countRecoveryCodes(db: Queries, userId: string): Promise<number> {
  const { left } = await db
    .selectFrom('recovery_code')
    .select(sql<number>`count(*)`.as('left'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(left)
}

/** Removes all codes of a person. */
export async function removeRecoveryCodes(db: Queries, userId: string): Promise<void> {
  await db.deleteFrom('recovery_code').where('user_id', '=', userId).execute()
}

/** `abcd-efgh-jkmn-pqrs`. The alphabet has 32 characters, so five bits of a byte are one of them, evenly. */
function newCode(): string {
  const text = [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte & 31]).join('')
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** The same code however it is typed: in capitals, without hyphens, with o for 0. */
function hashOf(userId: string, typed: string): string {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return fingerprint(`${userId} ${code}`)
}

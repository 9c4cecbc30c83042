/** An encrypted copy of the keyring, as text, which a passphrase opens. docs/variables.md: Encrypted keyring copy. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  type KeyObject,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import type { Queries } from '../db/db.ts'
import { type Keyring, type KeyringText, parseKeyring } from './keyring.ts'

/** The plaintext header, which is bound to the seal. */
type Head = { format: 'berth-keyring-copy'; version: 1; madeAt: string; keyIds: string[]; kdf: Kdf; nonce: string }
type Kdf = { name: 'scrypt'; N: number; r: number; p: number; salt: string }
type Copy = Head & { sealed: string }

/** 128 MiB and a third of a second per guess: OWASP's recommendation for scrypt. */
const COST = { N: 2 ** 17, r: 8, p: 1 }
/** Limits the memory that opening a copy may use to 1 GiB. */
const MAX_MEMORY = 1024 ** 3
const TAG_BYTES = 16

/** Encrypts a keyring with a passphrase (scrypt, AES-256-GCM). `madeAt`: ISO 8601. */
export async function sealKeyringCopy(keyring: KeyringText, passphrase: string, madeAt: string): Promise<string> {
  const kdf: Kdf = { name: 'scrypt', ...COST, salt: randomBytes(32).toString('base64url') }
  const nonce = randomBytes(12)
  const keyIds = keyring.keys.map(({ id }) => id)
  const head: Head = {
    format: 'berth-keyring-copy',
    version: 1,
    madeAt,
    keyIds,
    kdf,
    nonce: nonce.toString('base64url'),
  }
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, kdf), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(JSON.stringify(head)))
  const sealed = Buffer.concat([cipher.update(JSON.stringify(keyring)), cipher.final(), cipher.getAuthTag()])
  return `${JSON.stringify({ ...head, sealed: sealed.toString('base64url') }, null, 2)}\n`
}

/** Decrypts a copy. Throws with advice when it is not a copy, was changed, or the passphrase is wrong. */
export async function openKeyringCopy(text: string, passphrase: string, place: string): Promise<KeyringText> {
  const { sealed, ...head } = parseCopy(text, place)
  const bytes = Buffer.from(sealed, 'base64url')
  const end = bytes.length - TAG_BYTES
  const key = await deriveKey(passphrase, head.kdf)
  let plain: string
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(head.nonce, 'base64url'), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(JSON.stringify(head)))
    decipher.setAuthTag(bytes.subarray(end))
    plain = decipher.update(bytes.subarray(0, end)).toString() + decipher.final().toString()
  } catch (error) {
    throw new Error(`${place} does not open: the passphrase is another one, or the copy was changed`, { cause: error })
  }
  return parseKeyring(plain, place)
}

/** Returns whether a text is a keyring copy, of any version. */
export function isCopy(text: string): boolean {
  try {
    return (JSON.parse(text) as { format?: unknown } | null)?.format === 'berth-keyring-copy'
  } catch {
    return false
  }
}

function parseCopy(text: string, place: string): Copy {
  if (!isCopy(text)) throw new Error(`${place} is not a copy of a keyring: name a file that berth keys export wrote`)
  const { format, version, madeAt, keyIds, kdf, nonce, sealed } = JSON.parse(text) as Copy
  if (version !== 1)
    throw new Error(`${place} has the version ${version}, which this version of Berth does not know: use a newer one`)
  const well = typeof nonce === 'string' && typeof sealed === 'string' && kdf?.name === 'scrypt' && sealed.length > 22
  if (!well || !isCost(kdf)) throw new Error(`${place} is damaged: take another copy`)
  const { name, N, r, p, salt } = kdf
  // The same order as when they were sealed.
  return { format, version, madeAt, keyIds, kdf: { name, N, r, p, salt }, nonce, sealed }
}

function isCost({ N, r, p, salt }: Kdf): boolean {
  const whole = [N, r, p].every((number) => Number.isInteger(number) && number > 0)
  return whole && (N & (N - 1)) === 0 && 128 * N * r <= MAX_MEMORY / 2 && p <= 4 && typeof salt === 'string'
}

function deriveKey(passphrase: string, { N, r, p, salt }: Kdf): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cost = { N, r, p, maxmem: MAX_MEMORY }
    // Normalized, because one character may be typed as one code point or as several.
    scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64url'), 32, cost, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}

/** Returns a value that verifies a root key without the key. */
export function keyProof(id: string, key: KeyObject | Buffer): string {
  return createHmac('sha256', key).update(`berth keyring copy ${id}`).digest('base64url')
}

/** Returns which of the verification values match keys of the keyring. */
export function matchProofs(keyring: Keyring, proofs: readonly { id: string; proof: string }[]) {
  return proofs.map(({ id, proof }) => {
    const key = keyring.find(id)
    const [actual, expected] = [Buffer.from(proof), Buffer.from(key ? keyProof(id, key) : '')]
    return { id, matches: actual.length === expected.length && timingSafeEqual(actual, expected) }
  })
}

export type KeyringCopyStatus = { missing: string[]; verifiedAt: number | null; place: string | null }

/** Returns the root keys without a verified copy, and the oldest verification of the others. */
export async function readKeyringCopyStatus(db: Queries): Promise<KeyringCopyStatus> {
  const rows = await db
    .selectFrom('root_key')
    .leftJoin('keyring_copy', 'keyring_copy.root_key_id', 'root_key.id')
    .select(['root_key.id', 'keyring_copy.verified_at', 'keyring_copy.place'])
    .orderBy('root_key.id')
    .execute()
  const held = rows.filter((row) => row.verified_at !== null)
  const oldest = held.toSorted((a, b) => a.verified_at! - b.verified_at!)[0]
  return {
    missing: rows.filter((row) => row.verified_at === null).map(({ id }) => id),
    verifiedAt: oldest?.verified_at ?? null,
    place: oldest?.place ?? null,
  }
}

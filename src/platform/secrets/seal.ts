/** Sealing with AES-256-GCM. A value opens only with its key and associated data. docs/spec/reliability.md 2g. */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
/** Set for sealing and opening: without it Node accepts a tag of 4 bytes. */
const TAG = { authTagLength: 16 }
const NONCE_BYTES = 12
const KEY_BYTES = 32

/** Returns the associated data of a seal. Length prefixes keep `ab`,`c` apart from `a`,`bc`. */
export function associatedData(...parts: string[]): Buffer {
  const sizes = parts.map((part) => Buffer.byteLength(part))
  const place = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + 4 + size, 0))
  let at = 0
  for (const [index, part] of parts.entries()) {
    at = place.writeUInt32BE(sizes[index]!, at)
    at += place.write(part, at)
  }
  return place
}

/** Returns a new key of 32 random bytes, for a keyring file or to be wrapped. */
export function newKeyBytes(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** Returns a KeyObject: three times as fast as bytes, and it is never printed. */
export function toSecretKey(bytes: Buffer): KeyObject {
  if (bytes.length !== KEY_BYTES) throw new Error(`a key is ${KEY_BYTES} bytes`)
  return createSecretKey(bytes)
}

/** Seals bytes for associated data. Returns base64url of nonce, ciphertext and tag; the nonce is random. */
export function seal(key: KeyObject, plain: Buffer, place: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, TAG)
  cipher.setAAD(place)
  const body = cipher.update(plain)
  cipher.final()
  return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
}

/** Opens a sealed value. Returns undefined for other associated data, another key or a changed bit. */
export function open(key: KeyObject, sealed: string, place: Buffer): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  const end = bytes.length - TAG.authTagLength
  if (end < NONCE_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), TAG)
  decipher.setAAD(place)
  decipher.setAuthTag(bytes.subarray(end))
  try {
    const plain = decipher.update(bytes.subarray(NONCE_BYTES, end))
    decipher.final()
    return plain
  } catch {
    return undefined
  }
}

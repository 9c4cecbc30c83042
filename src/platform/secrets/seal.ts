/** Sealing: AES-256-GCM. What is sealed opens only with its key and for the very place it was sealed for. docs/spec/reliability.md 2g. */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
/** Given for sealing and for opening: without it Node takes a tag of 4 bytes for a whole one. */
const TAG = { authTagLength: 16 }
const NONCE_BYTES = 12
const KEY_BYTES = 32

/** Where something is sealed for, as the bytes that the seal is bound to. Lengths go first: `ab`,`c` is not `a`,`bc`. */
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

/** A new key of 32 random bytes, as bytes: for a keyring file, or to be wrapped. */
export function newKeyBytes(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** The key that seals and opens. Kept as a KeyObject: three times as fast as bytes, and it never prints. */
export function toSecretKey(bytes: Buffer): KeyObject {
  if (bytes.length !== KEY_BYTES) throw new Error(`a key is ${KEY_BYTES} bytes`)
  return createSecretKey(bytes)
}

/** Seals bytes for a place. The answer is base64url of nonce, ciphertext and tag; the nonce is random each time. */
export function seal(key: KeyObject, plain: Buffer, place: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce, TAG)
  cipher.setAAD(place)
  const body = cipher.update(plain)
  cipher.final()
  return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
}

/** Opens what was sealed for this place with this key. Undefined when it was not: another place, another key, a changed bit. */
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

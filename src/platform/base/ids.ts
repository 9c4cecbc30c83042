/** Identifiers and secrets: random base62, from the system's generator. */
import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const POOL = 4096
let pool = Buffer.alloc(0)
let used = 0

/** `length` characters of base62, each drawn evenly: bytes from 248 on are thrown away. */
export function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    if (used === pool.length) {
      pool = randomBytes(POOL)
      used = 0
    }
    const byte = pool[used++]!
    if (byte < 248) text += ALPHABET[byte % 62]
  }
  return text
}

/** An id such as `prj_` + 28 characters (167 bits): never reused, never guessed. */
export function newId<P extends Prefix>(prefix: P): `${P}_${string}` {
  return `${prefix}_${randomText(SHORT.has(prefix) ? 24 : 28)}`
}

/** `oac` an integration, `icfg` an installation of it, `sec` a client secret, `hook` a webhook, `ld` a log drain, `dlv` a delivery, `areq` a promote or rollback, `inv` an invitation. */
type Prefix =
  | 'prj'
  | 'evt'
  | 'tok'
  | 'usr'
  | 'team'
  | 'env'
  | 'oac'
  | 'icfg'
  | 'sec'
  | 'hook'
  | 'ld'
  | 'dlv'
  | 'mail'
  | 'dpl'
  | 'areq'
  | 'inv'
/** docs/spec/wire.md 3.7. */
const SHORT = new Set<Prefix>(['team', 'usr', 'oac', 'icfg'])

/** A bearer token: word characters only and 40 alphanumerics in a row, as both CLIs and Terraform demand (docs/spec/client-requests.md B.1, C.0). */
export function newToken(): string {
  return `berth_${randomText(40)}`
}

/** A client secret: 256 bits and more, behind a prefix by which scanners of leaked secrets know it. */
export function newClientSecret(): string {
  return `berth_secret_${randomText(43)}`
}

/** A one-time code of a consent: 32 alphanumerics (190 bits). */
export function newCode(): string {
  return randomText(32)
}

/** The random part of a domain's challenge: 20 hex digits (80 bits), guessed by nobody who has one try a request. */
export function newChallengeToken(): string {
  return randomBytes(10).toString('hex')
}

/** What is stored of a token or a code: its SHA-256 in hex. */
export function fingerprint(secret: string): string {
  return hash('sha256', secret)
}

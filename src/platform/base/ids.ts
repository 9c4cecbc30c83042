/** Identifiers and secrets: random base62, from the system's generator. */
import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const POOL = 4096
let pool = Buffer.alloc(0)
let used = 0

/** Returns `length` random base62 characters. Bytes from 248 on are dropped, so that the distribution is uniform. */
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

/** Returns an id such as `prj_` + 28 characters (167 bits). */
export function newId<P extends Prefix>(prefix: P): `${P}_${string}` {
  return `${prefix}_${randomText(SHORT.has(prefix) ? 24 : 28)}`
}

/**
 * `oac`: integration, `icfg`: installation, `sec`: client secret, `hook`: webhook, `ld`: log drain, `dlv`: delivery, `areq`: promote or rollback,
 * `inv`: invitation.
 */
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

/** Returns a bearer token: word characters with 40 alphanumerics in a row, as both CLIs and Terraform require (docs/spec/client-requests.md B.1, C.0). */
export function newToken(): string {
  return `berth_${randomText(40)}`
}

/** Returns a client secret of at least 256 bits, with a prefix for scanners of leaked secrets. */
export function newClientSecret(): string {
  return `berth_secret_${randomText(43)}`
}

/** Returns a one-time code of a consent: 32 alphanumerics (190 bits). */
export function newCode(): string {
  return randomText(32)
}

/** Returns the random part of a domain challenge: 20 hex digits (80 bits), infeasible to guess by requests. */
export function newChallengeToken(): string {
  return randomBytes(10).toString('hex')
}

/** Returns the stored form of a token or code: its SHA-256 in hex. */
export function fingerprint(secret: string): string {
  return hash('sha256', secret)
}

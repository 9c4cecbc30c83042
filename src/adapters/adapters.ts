/** The world beyond the database, as operations see it. Tests hand in others, made by us and kept beside the real ones. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Traces } from '../tracing/traces.ts'
import { isPublicAddress } from './addresses.ts'
import { type Dns, openDns, tracedDns } from './dns.ts'
import { type Egress, openEgress } from './egress.ts'
import { type IdentityProvider, openProvider } from './identity-provider.ts'
import { type Mailer, openMailer } from './mailer.ts'

export type Adapters = {
  /** argon2id of a password, as a PHC string. Slow on purpose (some 30 ms, in the thread pool): never inside a transaction. */
  hashPassword(password: string): Promise<string>
  dns: Dns
  /** HTTP to where others say. */
  egress: Egress
  mailer: Mailer
  /** Who vouches for people; undefined without single sign-on. */
  provider: IdentityProvider | undefined
}

/** OWASP's first recommendation for argon2id: 19 MiB, two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

/** `traces`: undefined where nobody collects them. */
export function openAdapters(config: Config, traces: Traces | undefined): Adapters {
  const newDns = () => tracedDns(openDns(config.dnsServers), traces)
  const dns = newDns()
  // Places of its own: names that tenants have looked up, however slow they are, never hold up what is sent.
  const egress = openEgress(newDns(), config.allowPrivateWebhooks ? () => true : isPublicAddress)
  const provider = config.singleSignOn && openProvider(config.singleSignOn)
  return { hashPassword, dns, egress, mailer: openMailer(config.mail), provider }
}

type Argon2 = Parameters<typeof argon2>

/** By hand: importing node:util for its promisify costs 3 MB and 19 ms at start. */
function derive(algorithm: Argon2[0], parameters: Argon2[1]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    argon2(algorithm, parameters, (error, tag) => (error ? reject(error) : resolve(tag)))
  })
}

async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16)
  const tag = await derive('argon2id', { message: password, nonce, ...COST })
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`
}

/** A PHC string of the same cost that no password makes: what is compared against where there is none. */
export const UNMATCHED = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(Buffer.alloc(16))}$${unpadded(Buffer.alloc(COST.tagLength))}`

/** True when the password made this PHC string. */
export async function passwordMatches(password: string, phc: string): Promise<boolean> {
  const [, , , cost = '', nonce = '', tag = ''] = phc.split('$')
  const { m, t, p } = Object.fromEntries(cost.split(',').map((pair) => pair.split('=')))
  const expected = Buffer.from(tag, 'base64')
  const hash = await derive('argon2id', {
    message: password,
    nonce: Buffer.from(nonce, 'base64'),
    memory: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    tagLength: expected.length,
  })
  return timingSafeEqual(hash, expected)
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

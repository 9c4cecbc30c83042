/** The world beyond the database, as operations see it. Tests hand in others, made by us and kept beside the real ones. */
import type { Config } from '../../config.ts'
import type { Traces } from '../tracing/traces.ts'
import { isPublicAddress } from './addresses.ts'
import { type Dns, openDns, tracedDns } from './dns.ts'
import { type Egress, openEgress } from './egress.ts'
import { type IdentityProvider, openProvider } from './identity-provider.ts'
import { type Mailer, openMailer } from './mailer.ts'
import { openPasswords, type Passwords } from './passwords.ts'

export type Adapters = {
  /** Hashes passwords in turn. Slow on purpose (some 30 ms, in the thread pool): never inside a transaction. */
  passwords: Passwords
  dns: Dns
  /** HTTP to where others say. */
  egress: Egress
  mailer: Mailer
  /** Who vouches for people; undefined without single sign-on. */
  provider: IdentityProvider | undefined
}

/** `traces`: undefined where nobody collects them. */
export function openAdapters(config: Config, traces: Traces | undefined): Adapters {
  const newDns = () => tracedDns(openDns(config.dnsServers), traces)
  const dns = newDns()
  // Places of its own: names that tenants have looked up, however slow they are, never hold up what is sent.
  const egress = openEgress(newDns(), config.allowPrivateWebhooks ? () => true : isPublicAddress)
  const provider = config.singleSignOn && openProvider(config.singleSignOn)
  return { passwords: openPasswords(), dns, egress, mailer: openMailer(config.mail), provider }
}

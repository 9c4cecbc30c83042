/** Adapters for external systems. Tests pass replacements. */
import type { Config } from '../../config.ts'
import type { Traces } from '../tracing/traces.ts'
import { isPublicAddress } from './addresses.ts'
import { type Dns, openDns, tracedDns } from './dns.ts'
import { type Egress, openEgress, Unanswered } from './egress.ts'
import { GIT_CLIENTS, type GitClient, type Provider } from './git.ts'
import { type IdentityProvider, openIdentityProvider } from './identity-provider.ts'
import { type Mailer, openMailer } from './mailer.ts'
import { openPasswords, type Passwords } from './passwords.ts'

export type Adapters = {
  /** Password hashing with a queue. Slow on purpose (some 30 ms, in the thread pool): never inside a transaction. */
  passwords: Passwords
  dns: Dns
  /** HTTP to addresses that users chose. */
  egress: Egress
  mailer: Mailer
  git: Readonly<Record<Provider, GitClient>>
  /** The single sign-on provider, if configured. */
  provider: IdentityProvider | undefined
}

/** Opens the adapters. `traces`: undefined without a collector. A drill contacts no external system: docs/backup.md: Restore next to production. */
export function openAdapters(config: Config, traces: Traces | undefined): Adapters {
  if (config.drill) return { passwords: openPasswords(), ...IN_DRILL }
  const newDns = () => tracedDns(openDns(config.dnsServers), traces)
  const dns = newDns()
  // A DNS client of its own: slow names that tenants look up do not delay deliveries.
  const egress = openEgress(newDns(), config.allowPrivateWebhooks ? () => true : isPublicAddress)
  const provider = config.singleSignOn && openIdentityProvider(config.singleSignOn)
  return { passwords: openPasswords(), dns, egress, mailer: openMailer(config.mail), git: GIT_CLIENTS, provider }
}

const WHY = 'BERTH_DRILL is on: no external system is contacted'
async function noAnswer(): Promise<undefined> {}

async function fault(): Promise<{ fault: string }> {
  return { fault: WHY }
}

const noGit: GitClient = { readRepository: fault, addHook: fault, removeHook: fault }

/** Each behaves as if the external system were unreachable. */
const IN_DRILL: Omit<Adapters, 'passwords'> = {
  dns: {
    readTxt: noAnswer,
    readTxtOfEach: async () => [],
    readCname: noAnswer,
    readA: noAnswer,
    readAaaa: noAnswer,
  },
  egress: {
    post: async () => ({ error: WHY }),
    forward: () => Promise.reject(new Unanswered(WHY, false)),
    close: async () => {},
  },
  mailer: { place: `nowhere: ${WHY}`, post: async () => ({ end: 'failed', reason: WHY }) },
  git: { gitlab: noGit, bitbucket: noGit },
  provider: undefined,
}

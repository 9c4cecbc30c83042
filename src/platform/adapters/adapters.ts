/** The world beyond the database, as operations see it. Tests hand in others, made by us and kept beside the real ones. */
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
  /** Hashes passwords in turn. Slow on purpose (some 30 ms, in the thread pool): never inside a transaction. */
  passwords: Passwords
  dns: Dns
  /** HTTP to where others say. */
  egress: Egress
  mailer: Mailer
  git: Readonly<Record<Provider, GitClient>>
  /** Who vouches for people; undefined without single sign-on. */
  provider: IdentityProvider | undefined
}

/** `traces`: undefined where nobody collects them. In a drill nothing reaches anybody: docs/backup.md: Beside production. */
export function openAdapters(config: Config, traces: Traces | undefined): Adapters {
  if (config.drill) return { passwords: openPasswords(), ...IN_DRILL }
  const newDns = () => tracedDns(openDns(config.dnsServers), traces)
  const dns = newDns()
  // Places of its own: names that tenants have looked up, however slow they are, never hold up what is sent.
  const egress = openEgress(newDns(), config.allowPrivateWebhooks ? () => true : isPublicAddress)
  const provider = config.singleSignOn && openIdentityProvider(config.singleSignOn)
  return { passwords: openPasswords(), dns, egress, mailer: openMailer(config.mail), git: GIT_CLIENTS, provider }
}

const WHY = 'BERTH_DRILL is on, so nobody is reached'
async function noAnswer(): Promise<undefined> {}

async function fault(): Promise<{ fault: string }> {
  return { fault: WHY }
}

const noGit: GitClient = { readRepository: fault, addHook: fault, removeHook: fault }

/** Each as the real one is while nobody answers. */
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

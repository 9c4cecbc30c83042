/** The environment -> Config, in one place and before anything is opened. What can be set is the table `settings.ts`. */
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { BudgetSettings } from './budgets.ts'
import type { LimitSettings } from './limits.ts'
import { type BackupSettings, backupsOf, type S3Settings, s3Of } from './platform/settings/backups.ts'
import type { BuildsSettings, RunnerSettings } from './platform/settings/builds.ts'
import { buildsOf, runnerOf } from './platform/settings/builds.ts'
import { readUnrepeated, withCredentials } from './platform/settings/credentials.ts'
import { type FunctionsSettings, functionsOf } from './platform/settings/functions.ts'
import { type Sender, type SmtpSetting, withTls } from './platform/settings/mail.ts'
import {
  type ConnectionSettings,
  type EdgeSettings,
  edgeOf,
  type SitesSettings,
  sitesOf,
} from './platform/settings/proxies.ts'
import { canUsePasswords, type GroupRule } from './platform/settings/sign-in.ts'
import type { DatabaseSetting, KeyringSetting, PoolSettings } from './platform/settings/store.ts'
import { receiverOf, type TraceReceiver } from './platform/settings/traces.ts'
import { BadSetting, type Setting, type ValuesOf } from './platform/settings/types.ts'
import { unknownSettings } from './platform/settings/unknown.ts'
import { SETTINGS } from './settings.ts'

export type { ConnectionSettings }
export { BadSetting }

type Values = ValuesOf<typeof SETTINGS>

export type Config = {
  host: string
  port: number
  /** Undefined: the bound address. */
  publicUrl: string | undefined
  tls: TlsSettings | undefined
  dataDirectory: string
  database: DatabaseSetting
  pool: PoolSettings
  operatorToken: string | undefined
  /** Grants access only to /metrics. */
  metricsToken: string | undefined
  /** The token of the command line for the public API. */
  clientToken: string | undefined
  edge: EdgeSettings
  sites: SitesSettings
  builds: BuildsSettings
  runner: RunnerSettings
  functions: FunctionsSettings
  /** Connection limits per client address, and exempt addresses. platform/server/connections.ts. */
  connections: ConnectionSettings
  /** The keyring: a file, or its content. */
  keys: KeyringSetting
  /** Of encrypted keyring copies, for commands. */
  keysPassphrase: string | undefined
  backups: BackupSettings
  /** S3 credentials; undefined without a key. */
  s3: S3Settings | undefined
  defaultPlan: Values['BERTH_DEFAULT_PLAN']
  teamsBy: Values['BERTH_TEAMS_BY']
  logLevel: string
  testClock: boolean
  /** Where traces are sent; undefined: nowhere. docs/operations.md: Traces. */
  traces: TraceReceiver | undefined
  timers: boolean
  /** A restored copy next to production, without effects on external systems. docs/backup.md: Restore next to production. */
  drill: boolean
  /** How long a start waits for dependencies: start-wait.ts. */
  startWaitSeconds: number
  /** Allows webhooks and log drains to private and loopback addresses. */
  allowPrivateWebhooks: boolean
  /** Resolvers as `address:port`; undefined: the system's. */
  dnsServers: string[] | undefined
  rateLimits: LimitSettings
  budgets: BudgetSettings
  /** The directory of uploaded files, and the bytes per account. */
  files: { to: string; perAccount: number }
  /** The lifetime of sessions. platform/access/session.ts. */
  sessions: SessionRules
  defaultNodeVersion: Values['BERTH_DEFAULT_NODE_VERSION']
  domains: DomainSettings
  mail: MailSettings
  /** Whether users can sign in with a password. */
  passwords: boolean
  /** Undefined: no single sign-on. docs/single-sign-on.md. */
  singleSignOn: SingleSignOnSettings | undefined
  /** A message for each unknown variable that begins with BERTH_. */
  unknownSettings: string[]
}

/** The maximum lifetime of a session, and the idle limit of an operator's, in ms. */
export type SessionRules = { lastMs: number; operatorIdleMs: number }

/** Files of the certificate (with its chain) and of its key, in PEM. */
export type TlsSettings = { cert: string; key: string }

/** Email transport: a mail server, or files. */
export type MailSettings = { from: Sender; folder: string; smtp: SmtpSetting | undefined }

/** The OpenID provider for sign-in, and the roles of its groups. */
export type SingleSignOnSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  /** Undefined: the supported scopes that Berth needs. */
  scope: string | undefined
  groupsClaim: string
  groups: readonly GroupRule[]
}

/** The operator's rules for domain names. docs/domains.md. */
export type DomainSettings = {
  proof: 'always' | 'contested'
  /** Names directly under it need no verification. */
  platformSuffix: string | undefined
  /** The operator accepts that sites share a registrable domain with the API. */
  sharesDomain: boolean
  /** Denied domains, with all names under them. */
  denied: string[]
  /** Berth's own host names. No account can claim them, or wildcards over them. */
  ownNames: string[]
  /** Top-level domains that are reserved for special use and accepted here. */
  specialUse: string[]
  challengeLabel: string
  challengePrefix: string
  /** The CNAME target of domains; unknown when not set. */
  edgeCname: string | undefined
  edgeIpv4: string[]
}

const LOCAL_SENDER = { name: 'Berth', address: 'berth@localhost' }

/** Reads every setting from the environment. Throws BadSetting, naming the variable and its format. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const values = readSettings(env)
  const dataFolder = values.BERTH_DATA
  return {
    host: values.HOST,
    port: values.PORT,
    publicUrl: values.BERTH_PUBLIC_URL,
    tls: tlsOf(values),
    dataDirectory: dataFolder,
    database: values.DATABASE_URL ?? { engine: 'sqlite', file: join(dataFolder, 'berth.db') },
    pool: { preparedStatements: values.BERTH_PG_PREPARED, patience: values.BERTH_TEST_PATIENCE },
    operatorToken: values.BERTH_OPERATOR_TOKEN,
    metricsToken: values.BERTH_METRICS_TOKEN,
    clientToken: values.BERTH_TOKEN,
    edge: edgeOf(values),
    sites: sitesOf(values),
    builds: buildsOf(values),
    runner: runnerOf(values),
    functions: functionsOf(values),
    connections: { perAddress: values.BERTH_CONNECTIONS_PER_ADDRESS, trustedProxies: values.BERTH_TRUSTED_PROXIES },
    keys: values.BERTH_KEYS ?? { file: join(dataFolder, 'keys.json') },
    keysPassphrase: values.BERTH_KEYS_PASSPHRASE,
    backups: backupsOf(values),
    s3: s3Of(values),
    defaultPlan: values.BERTH_DEFAULT_PLAN,
    teamsBy: values.BERTH_TEAMS_BY,
    logLevel: values.BERTH_LOG_LEVEL,
    testClock: values.BERTH_TEST_CLOCK,
    traces: receiverOf(values),
    timers: values.BERTH_TIMERS,
    drill: values.BERTH_DRILL,
    startWaitSeconds: values.BERTH_START_WAIT_SECONDS,
    allowPrivateWebhooks: values.BERTH_ALLOW_PRIVATE_WEBHOOKS,
    dnsServers: values.BERTH_DNS_SERVERS,
    rateLimits: values.BERTH_RATE_LIMITS,
    budgets: values.BERTH_BUDGETS,
    files: { to: values.BERTH_FILES_TO ?? join(dataFolder, 'files'), perAccount: values.BERTH_FILES_PER_ACCOUNT },
    sessions: {
      lastMs: values.BERTH_SESSION_DAYS * 86_400_000,
      operatorIdleMs: values.BERTH_OPERATOR_IDLE_HOURS * 3_600_000,
    },
    defaultNodeVersion: values.BERTH_DEFAULT_NODE_VERSION,
    domains: domainsOf(values),
    mail: mailOf(values),
    passwords: canUsePasswords(values.BERTH_PASSWORDS, values.BERTH_OIDC_ISSUER),
    singleSignOn: singleSignOnOf(values),
    unknownSettings: unknownSettings(env, Object.keys(SETTINGS)),
  }
}

/** Reads every setting of the table; empty text counts as not set. Throws BadSetting, naming the variable and its format. */
function readSettings(env: Record<string, string | undefined>): Values {
  const texts = withCredentials(env, SETTINGS)
  const values = Object.entries<Setting>(SETTINGS).map(([name, setting]) => {
    const text = texts[name] || setting.default
    return [name, text === undefined ? undefined : readUnrepeated(name, text, setting)]
  })
  return Object.fromEntries(values)
}

/** Returns the configured listen address as a URL. */
export function listenOrigin({ tls, host, port }: Pick<Config, 'tls' | 'host' | 'port'>): string {
  return `${tls === undefined ? 'http' : 'https'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/** Undefined: the API speaks plain http. What the files hold is read when they are used. docs/tls.md. */
function tlsOf({ BERTH_TLS_CERT: cert, BERTH_TLS_KEY: key, BERTH_PUBLIC_URL: publicUrl }: Values): Config['tls'] {
  if (cert === undefined && key === undefined) return undefined
  if (key === undefined) throw new BadSetting('BERTH_TLS_KEY must be set where BERTH_TLS_CERT is: https needs both')
  if (cert === undefined) throw new BadSetting('BERTH_TLS_CERT must be set where BERTH_TLS_KEY is: https needs both')
  if (publicUrl?.startsWith('http:'))
    throw new BadSetting(`BERTH_PUBLIC_URL must begin with https:// where BERTH_TLS_CERT is set, not be "${publicUrl}"`)
  return { cert, key }
}

function domainsOf(values: Values): DomainSettings {
  const { BERTH_PUBLIC_URL: publicUrl, BERTH_EDGE_CNAME: edgeCname, BERTH_PLATFORM_SUFFIX: platformSuffix } = values
  const ownHost = URL.parse(publicUrl ?? '')?.hostname.replace(/\.$/, '')
  return {
    proof: values.BERTH_DOMAIN_PROOF,
    platformSuffix,
    sharesDomain: values.BERTH_PLATFORM_SUFFIX_SHARED,
    denied: values.BERTH_DENIED_DOMAINS ?? [],
    ownNames: [ownHost, edgeCname, platformSuffix].filter((name) => name !== undefined),
    specialUse: values.BERTH_SPECIAL_USE_DOMAINS ?? [],
    challengeLabel: values.BERTH_CHALLENGE_LABEL,
    challengePrefix: values.BERTH_CHALLENGE_PREFIX,
    edgeCname,
    edgeIpv4: values.BERTH_EDGE_IPV4 ?? [],
  }
}

function mailOf(values: Values): MailSettings {
  const { BERTH_SMTP_URL: smtp, BERTH_SMTP_TLS: tls, BERTH_MAIL_FROM: from, BERTH_DATA: dataFolder } = values
  if (smtp !== undefined && from === undefined)
    throw new BadSetting('BERTH_MAIL_FROM must be set where BERTH_SMTP_URL is')
  return { from: from ?? LOCAL_SENDER, folder: join(dataFolder, 'mail'), smtp: smtp && withTls(smtp, tls) }
}

function singleSignOnOf(values: Values): Config['singleSignOn'] {
  const { BERTH_OIDC_ISSUER: issuer, BERTH_OIDC_CLIENT_ID: clientId, BERTH_OIDC_CLIENT_SECRET: clientSecret } = values
  if (issuer === undefined) return undefined
  if (clientId === undefined) throw new BadSetting('BERTH_OIDC_CLIENT_ID must be set where BERTH_OIDC_ISSUER is')
  if (clientSecret === undefined)
    throw new BadSetting('BERTH_OIDC_CLIENT_SECRET must be set where BERTH_OIDC_ISSUER is')
  const { BERTH_OIDC_SCOPE: scope, BERTH_OIDC_GROUPS_CLAIM: groupsClaim, BERTH_OIDC_GROUPS: groups = [] } = values
  return { issuer, clientId, clientSecret, scope, groupsClaim, groups }
}

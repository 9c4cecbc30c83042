/** Settings: the environment -> Config, in one place and before anything is opened. Names: docs/settings in the README. */
import { isIPv6 } from 'node:net'
import { join, resolve } from 'node:path'
import type { LimitSettings } from './limits.ts'
import { NODE_VERSIONS } from './model/node-versions.ts'
import { type DomainSettings, readDnsServers, readDomainSettings } from './settings/domains.ts'
import { readLimits } from './settings/limits.ts'
import { watchNames } from './settings/names.ts'
import { BadSetting, readChoice, readPort, readSecret, readUrl } from './settings/read.ts'
import { readTls, type TlsSettings } from './settings/tls.ts'

export type { DomainSettings }
export { BadSetting }

export type Config = {
  host: string
  port: number
  /** Undefined: made from the address that is really bound. */
  publicUrl: string | undefined
  /** The API speaks https itself. */
  tls: TlsSettings | undefined
  dataFolder: string
  database: { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }
  operatorToken: string | undefined
  /** Opens /metrics and nothing else. */
  metricsToken: string | undefined
  /** Whose token the command line shows to the public API. */
  clientToken: string | undefined
  /** The listener for proxies. `port` undefined: none. `chosen`: somebody set it, so it must be had. docs/edge.md. */
  edge: { port: number | undefined; chosen: boolean; token: string | undefined }
  /** The keyring that seals values: a file, or the keyring itself. */
  keys: { file: string } | { text: string }
  /** Of new accounts. */
  defaultPlan: (typeof PLANS)[number]
  logLevel: string
  testClock: boolean
  timers: boolean
  /** Webhooks and log drains may go to private and loopback addresses. */
  allowPrivateWebhooks: boolean
  /** Resolvers as `address:port`; undefined: the system's. */
  dnsServers: string[] | undefined
  rateLimits: LimitSettings
  defaultNodeVersion: (typeof NODE_VERSIONS)[number] | undefined
  domains: DomainSettings
  mail: MailSettings
  /** What is set and begins with BERTH_, but is no setting: a sentence each. */
  unknown: string[]
}

/** How letters leave: by a mail server, or as files. */
export type MailSettings = {
  from: { name: string; address: string }
  folder: string
  smtp: { host: string; port: number; secure: boolean; user?: string; password?: string } | undefined
}

const PLANS = ['hobby', 'pro', 'enterprise'] as const
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads every setting from the environment. Throws BadSetting, naming the variable and what it may be. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const { watched, unknown } = watchNames(env)
  // In this order: what was asked for is what is known.
  return { ...readAll(watched), unknown: unknown() }
}

function readAll(env: Record<string, string | undefined>): Omit<Config, 'unknown'> {
  const dataFolder = resolve(env.BERTH_DATA || './data')
  const publicUrl = readUrl('BERTH_PUBLIC_URL', env.BERTH_PUBLIC_URL)
  return {
    host: env.HOST || '127.0.0.1',
    port: readPort('PORT', env.PORT, 3000),
    publicUrl,
    tls: readTls(env, publicUrl),
    dataFolder,
    database: readDatabase(env.DATABASE_URL, dataFolder),
    operatorToken: readSecret('BERTH_OPERATOR_TOKEN', env.BERTH_OPERATOR_TOKEN),
    clientToken: readSecret('BERTH_TOKEN', env.BERTH_TOKEN, 1),
    metricsToken: readSecret('BERTH_METRICS_TOKEN', env.BERTH_METRICS_TOKEN),
    edge: {
      port:
        env.BERTH_EDGE_PORT === 'off' ? undefined : readPort('BERTH_EDGE_PORT', env.BERTH_EDGE_PORT, 3001, ' or off'),
      chosen: Boolean(env.BERTH_EDGE_PORT),
      token: readEdgeToken(env.BERTH_EDGE_TOKEN),
    },
    keys: readKeys(env.BERTH_KEYS, dataFolder),
    defaultPlan: readChoice(
      'BERTH_DEFAULT_PLAN',
      env.BERTH_DEFAULT_PLAN,
      [...PLANS],
      'enterprise',
    ) as Config['defaultPlan'],
    logLevel: readChoice('BERTH_LOG_LEVEL', env.BERTH_LOG_LEVEL, LOG_LEVELS, 'info'),
    testClock: readChoice('BERTH_TEST_CLOCK', env.BERTH_TEST_CLOCK, ['0', '1'], '0') === '1',
    timers: readChoice('BERTH_TIMERS', env.BERTH_TIMERS, ['on', 'off'], 'on') === 'on',
    allowPrivateWebhooks:
      readChoice('BERTH_ALLOW_PRIVATE_WEBHOOKS', env.BERTH_ALLOW_PRIVATE_WEBHOOKS, ['0', '1'], '0') === '1',
    dnsServers: readDnsServers(env.BERTH_DNS_SERVERS),
    defaultNodeVersion: readChoice(
      'BERTH_DEFAULT_NODE_VERSION',
      env.BERTH_DEFAULT_NODE_VERSION,
      NODE_VERSIONS,
      undefined,
    ),
    rateLimits: readLimits(env.BERTH_RATE_LIMITS, (said) => new BadSetting(`BERTH_RATE_LIMITS ${said}`)),
    domains: readDomainSettings(env, publicUrl),
    mail: readMail(env, dataFolder),
  }
}

/** Where the service listens by its settings, as a URL. */
export function listenOrigin({ tls, host, port }: Pick<Config, 'tls' | 'host' | 'port'>): string {
  return `${tls === undefined ? 'http' : 'https'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/** `sqlite:<file>` or `postgres://…`. The value may hold a password, so it is never repeated. */
function readDatabase(text = '', dataFolder: string): Config['database'] {
  if (text === '') return { engine: 'sqlite', file: join(dataFolder, 'berth.db') }
  // What follows the slashes of a URL is a host to some and a folder to others.
  if (/^sqlite:\/\//.test(text))
    throw new BadSetting(
      'DATABASE_URL takes no slashes after sqlite: write sqlite:berth.db or sqlite:/var/lib/berth.db',
    )
  if (/^sqlite:./.test(text)) return { engine: 'sqlite', file: resolve(text.slice('sqlite:'.length)) }
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return { engine: 'postgres', url: text }
  throw new BadSetting('DATABASE_URL must be sqlite:<file> or postgres://user:password@host:port/database')
}

/** A path, or the keyring itself as JSON. What is wrong inside it is said when it is opened, never by repeating it. */
function readKeys(text = '', dataFolder: string): Config['keys'] {
  if (text.trimStart().startsWith('{')) return { text }
  return { file: text === '' ? join(dataFolder, 'keys.json') : resolve(text) }
}

function readMail(env: Record<string, string | undefined>, dataFolder: string): MailSettings {
  const smtp = readSmtp(env.BERTH_SMTP_URL)
  if (smtp && !env.BERTH_MAIL_FROM) throw new BadSetting('BERTH_MAIL_FROM must be set where BERTH_SMTP_URL is')
  const said = env.BERTH_MAIL_FROM || 'Berth <berth@localhost>'
  const [, name = '', address = said] = /^([^<>"\p{C}]*)<([^<>]*)>$/u.exec(said) ?? []
  if (!/^[^\s\p{C}<>,;:"@]+@[^\s\p{C}<>,;:"@]+$/u.test(address))
    throw new BadSetting(`BERTH_MAIL_FROM must be like mail@example.com or Name <mail@example.com>, not "${said}"`)
  return { from: { name: name.trim(), address }, folder: join(dataFolder, 'mail'), smtp }
}

/** The value may hold a password, so it is never repeated. */
function readSmtp(text = ''): MailSettings['smtp'] {
  if (text === '') return undefined
  const url = URL.parse(text)
  const secure = url?.protocol === 'smtps:'
  const isPlain = url?.hostname && url.search === '' && /^\/?$/.test(url.pathname)
  const [user, password] = [decoded(url?.username), decoded(url?.password)]
  if (!isPlain || (!secure && url.protocol !== 'smtp:') || user === undefined || password === undefined)
    throw new BadSetting('BERTH_SMTP_URL must be smtp://user:password@host:port or smtps://user:password@host:port')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 465 : 587)),
    secure,
    ...(user !== '' && { user, password }),
  }
}

function decoded(part = ''): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** It travels in the query of a URL, as proxies can send nothing else everywhere. */
function readEdgeToken(text = ''): string | undefined {
  if (text === '') return undefined
  if (!/^[\w.~-]{20,256}$/.test(text))
    throw new BadSetting('BERTH_EDGE_TOKEN must be 20 to 256 letters, digits, "-", "_", "." or "~"')
  return text
}

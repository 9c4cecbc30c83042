/** Settings: the environment -> Config, in one place and before anything is opened. Names: docs/settings in the README. */
import { isIP, isIPv4 } from 'node:net'
import { join, resolve } from 'node:path'
import { domainToASCII } from 'node:url'
import { type LimitSettings, readLimits } from './limits.ts'

export type Config = {
  host: string
  port: number
  /** Undefined: made from the address that is really bound. */
  publicUrl: string | undefined
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
  logLevel: string
  testClock: boolean
  timers: boolean
  /** Webhooks and log drains may go to private and loopback addresses. */
  allowPrivateWebhooks: boolean
  /** Resolvers as `address:port`; undefined: the system's. */
  dnsServers: string[] | undefined
  rateLimits: LimitSettings
  domains: DomainSettings
  mail: MailSettings
}

/** How letters leave: by a mail server, or as files. */
export type MailSettings = {
  from: { name: string; address: string }
  folder: string
  smtp: { host: string; port: number; secure: boolean; user?: string; password?: string } | undefined
}

/** What the operator decides about names. docs/domains.md. */
export type DomainSettings = {
  proof: 'always' | 'contested'
  /** Names directly under it need no proof. */
  platformSuffix: string | undefined
  /** These, and all under them, are refused. */
  denied: string[]
  /** Top-level domains reserved for special use that are taken nevertheless. */
  specialUse: string[]
  challengeLabel: string
  challengePrefix: string
  /** Where a domain should point; unknown when not set. */
  edgeCname: string | undefined
  edgeIpv4: string[]
}

/** A setting that cannot be used: the process says which and ends with 78 (EX_CONFIG). */
export class BadSetting extends Error {}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads every setting from `env`. Throws BadSetting, naming the variable and what it may be. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const dataFolder = resolve(env.BERTH_DATA || './data')
  return {
    host: env.HOST || '127.0.0.1',
    port: readPort('PORT', env.PORT, 3000),
    publicUrl: readUrl('BERTH_PUBLIC_URL', env.BERTH_PUBLIC_URL),
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
    logLevel: readChoice('BERTH_LOG_LEVEL', env.BERTH_LOG_LEVEL, LOG_LEVELS, 'info'),
    testClock: readChoice('BERTH_TEST_CLOCK', env.BERTH_TEST_CLOCK, ['0', '1'], '0') === '1',
    timers: readChoice('BERTH_TIMERS', env.BERTH_TIMERS, ['on', 'off'], 'on') === 'on',
    allowPrivateWebhooks:
      readChoice('BERTH_ALLOW_PRIVATE_WEBHOOKS', env.BERTH_ALLOW_PRIVATE_WEBHOOKS, ['0', '1'], '0') === '1',
    dnsServers: readDnsServers(env.BERTH_DNS_SERVERS),
    rateLimits: readLimits(env.BERTH_RATE_LIMITS, (said) => new BadSetting(`BERTH_RATE_LIMITS ${said}`)),
    domains: readDomainSettings(env),
    mail: readMail(env, dataFolder),
  }
}

function readPort(name: string, text = '', otherwise: number, orWord = ''): number {
  if (text === '') return otherwise
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new BadSetting(`${name} must be 0 to 65535${orWord}, not "${text}"`)
  return Number(text)
}

function readUrl(name: string, text = ''): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadSetting(`${name} must be an http(s) URL, not "${text}"`)
  return text.replace(/\/+$/, '')
}

/** `sqlite:<file>` or `postgres://…`. The value may hold a password, so it is never repeated. */
function readDatabase(text = '', dataFolder: string): Config['database'] {
  if (text === '') return { engine: 'sqlite', file: join(dataFolder, 'berth.db') }
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

function readSecret(name: string, text = '', least = 20): string | undefined {
  if (text === '') return undefined
  if (!/^[\x21-\x7e]{1,256}$/.test(text) || text.length < least)
    throw new BadSetting(`${name} must be ${least} to 256 visible ASCII characters, without spaces and line ends`)
  return text
}

/** It travels in the query of a URL, as proxies can send nothing else everywhere. */
function readEdgeToken(text = ''): string | undefined {
  if (text === '') return undefined
  if (!/^[\w.~-]{1,256}$/.test(text))
    throw new BadSetting('BERTH_EDGE_TOKEN must be 1 to 256 letters, digits, "-", "_", "." or "~"')
  return text
}

function readChoice(name: string, text: string | undefined, choices: string[], otherwise: string): string {
  if (text === undefined || text === '') return otherwise
  if (!choices.includes(text)) throw new BadSetting(`${name} must be one of ${choices.join(', ')}, not "${text}"`)
  return text
}

function readDomainSettings(env: Record<string, string | undefined>): DomainSettings {
  const [platformSuffix] = readHosts('BERTH_PLATFORM_SUFFIX', env.BERTH_PLATFORM_SUFFIX, 1)
  const [edgeCname] = readHosts('BERTH_EDGE_CNAME', env.BERTH_EDGE_CNAME, 1)
  const edgeIpv4 = listed(env.BERTH_EDGE_IPV4)
  const wrong = edgeIpv4.find((address) => !isIPv4(address))
  if (wrong !== undefined)
    throw new BadSetting(`BERTH_EDGE_IPV4 must be IPv4 addresses, comma-separated, not "${wrong}"`)
  return {
    proof: readChoice('BERTH_DOMAIN_PROOF', env.BERTH_DOMAIN_PROOF, ['always', 'contested'], 'always') as
      | 'always'
      | 'contested',
    platformSuffix,
    denied: readHosts('BERTH_DENIED_DOMAINS', env.BERTH_DENIED_DOMAINS),
    specialUse: readHosts('BERTH_SPECIAL_USE_DOMAINS', env.BERTH_SPECIAL_USE_DOMAINS),
    challengeLabel: readPattern('BERTH_CHALLENGE_LABEL', env.BERTH_CHALLENGE_LABEL, /^_?[a-z0-9-]{1,62}$/, '_berth'),
    challengePrefix: readPattern(
      'BERTH_CHALLENGE_PREFIX',
      env.BERTH_CHALLENGE_PREFIX,
      /^[a-z0-9-]{1,63}$/,
      'berth-domain-verify',
    ),
    edgeCname,
    edgeIpv4,
  }
}

/** `host:port,host`, addresses only: a resolver that had to be resolved first would need another. */
function readDnsServers(text: string | undefined): string[] | undefined {
  const servers = listed(text)
  for (const server of servers) {
    const [, v6, v4, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? []
    const isAddress = isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4 || isIP(server) === 6
    if (!isAddress || Number(port) > 65_535)
      throw new BadSetting(`BERTH_DNS_SERVERS must be addresses such as 127.0.0.1:53 or [::1]:53, not "${server}"`)
  }
  return servers.length === 0 ? undefined : servers
}

/** Host names, in the form in which domains are compared. A leading `*.` or dot means what the name alone means. */
function readHosts(name: string, text: string | undefined, most = 10_000): string[] {
  const hosts = listed(text).map((host) =>
    domainToASCII(
      host
        .replace(/^\*?\./, '')
        .replace(/\.$/, '')
        .toLowerCase(),
    ),
  )
  const good = hosts.every((host) => /^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(host)) && hosts.length <= most
  if (!good)
    throw new BadSetting(
      `${name} must be ${most === 1 ? 'a domain name' : 'domain names, comma-separated'}, not "${text}"`,
    )
  return hosts
}

function readPattern(name: string, text: string | undefined, pattern: RegExp, otherwise: string): string {
  if (text === undefined || text === '') return otherwise
  if (!pattern.test(text))
    throw new BadSetting(`${name} must be like "${otherwise}": lower case letters, digits and "-"`)
  return text
}

function listed(text = ''): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

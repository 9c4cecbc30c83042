/**
 * TABLE Settings: every environment variable that Berth reads. `config.ts` and docs/settings.md (`npm run settings`) use it. Names never change: users
 * and scripts depend on them.
 */

import { BACKUPS } from './platform/settings/backups.ts'
import { BUILDS, RUNNER } from './platform/settings/builds.ts'
import { DOMAIN, DOMAINS, IPV4_ADDRESSES, PLATFORM_SUFFIX, RESOLVERS } from './platform/settings/domains.ts'
import { FUNCTIONS } from './platform/settings/functions.ts'
import { BUDGET_SETTINGS, RATE_LIMITS } from './platform/settings/limits.ts'
import { MAIL } from './platform/settings/mail.ts'
import { CONNECTIONS, SITES } from './platform/settings/proxies.ts'
import { SESSIONS, SIGN_IN } from './platform/settings/sign-in.ts'
import { DATABASE, FILES, KEYRING } from './platform/settings/store.ts'
import { FOR_TESTS } from './platform/settings/tests.ts'
import { TRACES } from './platform/settings/traces.ts'
import {
  BooleanSetting,
  EnumSetting,
  HOST_NAME,
  IntegerSetting,
  LabelSetting,
  NODE_VERSIONS,
  ORIGIN,
  PATH,
  PORT,
  PORT_OR_OFF,
  type Setting,
  TokenSetting,
  URL_TOKEN,
} from './platform/settings/types.ts'

export const SETTINGS = {
  HOST: {
    group: 'Listening',
    type: HOST_NAME,
    default: '127.0.0.1',
    description: 'The address on which the API and the listener for proxies listen.',
  },
  PORT: {
    group: 'Listening',
    type: PORT,
    default: '3000',
    description: 'The port of the API; with `0` Berth picks a free one and prints it at the start.',
  },
  BERTH_PUBLIC_URL: {
    group: 'Listening',
    type: ORIGIN,
    whenUnset: 'made from `HOST` and `PORT`',
    description: 'The address at which users and proxies reach Berth, for links in email and the OAuth issuer.',
  },
  BERTH_CONNECTIONS_PER_ADDRESS: CONNECTIONS.BERTH_CONNECTIONS_PER_ADDRESS,
  BERTH_TLS_CERT: {
    group: 'Listening',
    type: PATH,
    whenUnset: 'none: plain http, and https too [on a laptop](tls.md#local-use)',
    description: 'The certificate with its chain, in PEM, for https without a proxy: [tls.md](tls.md).',
    reloadable: true,
  },
  BERTH_TLS_KEY: {
    group: 'Listening',
    type: PATH,
    whenUnset: 'none: plain http, and https too [on a laptop](tls.md#local-use)',
    description: 'The key of that certificate, in PEM.',
    reloadable: true,
  },
  BERTH_DATA: {
    group: 'Storage',
    type: PATH,
    default: './data',
    description: 'The folder of the embedded store, the keyring, mail files and `credentials.json`.',
  },
  DATABASE_URL: {
    group: 'Storage',
    type: DATABASE,
    whenUnset: '`sqlite:<BERTH_DATA>/berth.db`',
    description: 'The database: a file of the embedded store, or a PostgreSQL server.',
    secret: true,
  },
  BERTH_FILES_TO: FILES.BERTH_FILES_TO,
  BERTH_PG_PREPARED: {
    group: 'Storage',
    type: BooleanSetting(['on', 'off'], 'on'),
    default: 'on',
    description: 'Set `off` behind a pgbouncer before 1.21 in transaction mode: [scaling.md](scaling.md#pgbouncer).',
  },
  BERTH_KEYS: {
    group: 'Storage',
    type: KEYRING,
    whenUnset: '`<BERTH_DATA>/keys.json`, made on the first start',
    description: 'The root keys that protect stored secrets; back them up: [variables.md](variables.md).',
    secret: true,
    reloadable: true,
  },
  ...BACKUPS,
  BERTH_OPERATOR_TOKEN: {
    group: 'Tokens',
    type: TokenSetting(20),
    whenUnset: 'made on the first start',
    description: 'The token of the operator API; set it if instances share a PostgreSQL.',
    secret: true,
  },
  BERTH_METRICS_TOKEN: {
    group: 'Tokens',
    type: TokenSetting(20),
    whenUnset: 'none: the operator token alone',
    description: 'A token only for `/metrics`: [operations.md](operations.md).',
    secret: true,
  },
  BERTH_TOKEN: {
    group: 'Tokens',
    type: TokenSetting(1),
    whenUnset: 'the first, in `credentials.json`',
    description: 'The token of a user, for the commands that use the public API: [command-line.md](command-line.md).',
    secret: true,
  },
  ...SIGN_IN,
  BERTH_DEFAULT_PLAN: {
    group: 'Accounts and projects',
    type: EnumSetting('hobby', 'pro', 'enterprise'),
    default: 'enterprise',
    description: 'The plan of new accounts: [accounts.md](accounts.md).',
  },
  BERTH_TEAMS_BY: {
    group: 'Accounts and projects',
    type: EnumSetting('people', 'operator'),
    default: 'people',
    description: 'Who creates teams: every user, or only the operator: [accounts.md](accounts.md).',
  },
  BERTH_DEFAULT_NODE_VERSION: {
    group: 'Accounts and projects',
    type: EnumSetting(...NODE_VERSIONS),
    default: '22.x',
    description: 'The `nodeVersion` of new projects that name none: [projects.md](projects.md#settings).',
  },
  ...SESSIONS,
  BERTH_RATE_LIMITS: {
    group: 'Accounts and projects',
    type: RATE_LIMITS,
    default: 'on',
    description: 'Rate limits per account; an object overrides single limits: [limits.md](limits.md).',
  },
  ...BUDGET_SETTINGS,
  BERTH_FILES_PER_ACCOUNT: FILES.BERTH_FILES_PER_ACCOUNT,
  BERTH_DNS_SERVERS: {
    group: 'Domains',
    type: RESOLVERS,
    whenUnset: "the system's",
    description: 'The DNS resolvers that Berth trusts, preferably a validating one on the same machine.',
  },
  BERTH_DOMAIN_PROOF: {
    group: 'Domains',
    type: EnumSetting('always', 'contested'),
    default: 'always',
    description:
      'With `contested` a domain is verified at once, unless another account has a verified name under the same apex: [domains.md](domains.md).',
  },
  ...PLATFORM_SUFFIX,
  BERTH_DENIED_DOMAINS: {
    group: 'Domains',
    type: DOMAINS,
    whenUnset: 'none',
    description: 'These domains, and all names under them, are refused.',
  },
  BERTH_SPECIAL_USE_DOMAINS: {
    group: 'Domains',
    type: DOMAINS,
    whenUnset: 'none',
    description: 'Top-level domains that are reserved for special use and accepted here, such as `internal,test`.',
  },
  BERTH_CHALLENGE_LABEL: {
    group: 'Domains',
    type: LabelSetting(/^_?[a-z0-9-]{1,62}$/, '_berth'),
    default: '_berth',
    description: 'The label under which a challenge is published in DNS.',
  },
  BERTH_CHALLENGE_PREFIX: {
    group: 'Domains',
    type: LabelSetting(/^[a-z0-9-]{1,63}$/, 'berth-domain-verify'),
    default: 'berth-domain-verify',
    description: 'The text with which the value of a challenge begins.',
  },
  BERTH_EDGE_CNAME: {
    group: 'Domains',
    type: DOMAIN,
    whenUnset: 'none',
    description: 'The CNAME target of domains, returned by `GET /v6/domains/{domain}/config`.',
  },
  BERTH_EDGE_IPV4: {
    group: 'Domains',
    type: IPV4_ADDRESSES,
    whenUnset: 'none',
    description: 'The A records of domains, returned by `GET /v6/domains/{domain}/config`.',
  },
  ...MAIL,
  BERTH_EDGE_PORT: {
    group: 'Proxies',
    type: PORT_OR_OFF,
    whenUnset: '`3001` where it is free',
    description: 'The port of the listener for proxies, on `HOST`: [edge.md](edge.md).',
  },
  BERTH_EDGE_TOKEN: {
    group: 'Proxies',
    type: URL_TOKEN,
    whenUnset: 'none: only this machine',
    description: 'Lets other machines use the listener for proxies.',
    secret: true,
  },
  BERTH_TRUSTED_PROXIES: CONNECTIONS.BERTH_TRUSTED_PROXIES,
  ...SITES,
  ...BUILDS,
  ...RUNNER,
  ...FUNCTIONS,
  BERTH_ALLOW_PRIVATE_WEBHOOKS: {
    group: 'Running',
    type: BooleanSetting(['0', '1'], '1'),
    default: '0',
    description:
      'With `1` webhooks and log drains may reach private and loopback addresses: [webhooks.md](webhooks.md).',
  },
  BERTH_TIMERS: {
    group: 'Running',
    type: BooleanSetting(['on', 'off'], 'on'),
    default: 'on',
    description: 'Set `off` where another instance runs the sweeps and the deliveries: [scaling.md](scaling.md).',
  },
  BERTH_START_WAIT_SECONDS: {
    group: 'Running',
    type: IntegerSetting(0, 86_400),
    default: '300',
    description:
      'How long a start waits for the database server, and for the name or the address of `HOST`; with `0` it fails at once: [operations.md](operations.md#start-order).',
  },
  BERTH_LOG_LEVEL: {
    group: 'Running',
    type: EnumSetting('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'The lowest level that is logged: JSON on stdout, readable text on a terminal.',
  },
  ...TRACES,
  ...FOR_TESTS,
} as const satisfies Record<string, Setting>

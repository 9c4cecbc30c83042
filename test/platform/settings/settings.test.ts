/** The table of settings: config.ts reads every row of it, and docs/settings.md shows it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadSetting, type Config, readConfig } from '../../../src/config.ts'
import type { Setting } from '../../../src/platform/settings/kinds.ts'
import { SETTINGS } from '../../../src/settings.ts'
import { root } from '../../support/root.ts'

type Name = keyof typeof SETTINGS
const rows = Object.entries<Setting>(SETTINGS) as [Name, Setting][]

/** A value of each setting that is not its default. */
const SAMPLES: Record<Name, string> = {
  HOST: '0.0.0.0',
  PORT: '8080',
  BERTH_PUBLIC_URL: 'https://berth.example.com',
  BERTH_CONNECTIONS_PER_ADDRESS: '100',
  BERTH_TLS_CERT: '/etc/other.pem',
  BERTH_TLS_KEY: '/etc/other.key',
  BERTH_DATA: '/var/lib/berth',
  DATABASE_URL: 'postgres://u:p@localhost/berth',
  BERTH_PG_PREPARED: 'off',
  BERTH_KEYS: '/etc/berth/keys.json',
  BERTH_FILES_TO: '/srv/files',
  BERTH_BACKUP_SCHEDULE: '0 0 * * *',
  BERTH_BACKUP_TO: 's3://bucket/prefix',
  BERTH_BACKUP_KEEP: 'last=1',
  BERTH_S3_ENDPOINT: 'https://s3.example.net',
  BERTH_S3_REGION: 'eu-central-1',
  BERTH_S3_ACCESS_KEY_ID: 'other',
  BERTH_S3_SECRET_ACCESS_KEY: 'other-secret',
  BERTH_KEYS_PASSPHRASE: 'a long passphrase',
  BERTH_OPERATOR_TOKEN: 'x'.repeat(20),
  BERTH_METRICS_TOKEN: 'x'.repeat(20),
  BERTH_TOKEN: 'x',
  BERTH_PASSWORDS: 'off',
  BERTH_OIDC_ISSUER: 'https://login.example.net',
  BERTH_OIDC_CLIENT_ID: 'other',
  BERTH_OIDC_CLIENT_SECRET: 'other-secret',
  BERTH_OIDC_SCOPE: 'openid',
  BERTH_OIDC_GROUPS_CLAIM: 'roles',
  BERTH_OIDC_GROUPS: 'a=operator',
  BERTH_DEFAULT_PLAN: 'hobby',
  BERTH_TEAMS_BY: 'operator',
  BERTH_SESSION_DAYS: '2',
  BERTH_OPERATOR_IDLE_HOURS: '3',
  BERTH_DEFAULT_NODE_VERSION: '24.x',
  BERTH_RATE_LIMITS: 'off',
  BERTH_BUDGETS: '{"projects": 7}',
  BERTH_FILES_PER_ACCOUNT: '2TiB',
  BERTH_DNS_SERVERS: '127.0.0.1:5300',
  BERTH_DOMAIN_PROOF: 'contested',
  BERTH_PLATFORM_SUFFIX: 'apps.example.net',
  BERTH_DENIED_DOMAINS: 'example.org',
  BERTH_SPECIAL_USE_DOMAINS: 'internal',
  BERTH_CHALLENGE_LABEL: '_other',
  BERTH_CHALLENGE_PREFIX: 'other',
  BERTH_EDGE_CNAME: 'edge.example.net',
  BERTH_EDGE_IPV4: '192.0.2.1',
  BERTH_SMTP_URL: 'smtp://other',
  BERTH_SMTP_TLS: 'unverified',
  BERTH_MAIL_FROM: 'other@example.com',
  BERTH_EDGE_PORT: 'off',
  BERTH_EDGE_TOKEN: 'x'.repeat(20),
  BERTH_TRUSTED_PROXIES: '10.0.0.0/8',
  BERTH_SITES_PORT: 'off',
  BERTH_SITES_CONTROL_PLANE: 'http://10.0.0.1:3001',
  BERTH_SITES_CACHE: '/srv/sites',
  BERTH_SITES_CACHE_BYTES: '1GiB',
  BERTH_SITES_TOKEN: 'y'.repeat(20),
  BERTH_SITES_ADDRESS: 'http://127.0.0.1:3002',
  BERTH_ALLOW_PRIVATE_WEBHOOKS: '1',
  BERTH_TIMERS: 'off',
  BERTH_START_WAIT_SECONDS: '7',
  BERTH_LOG_LEVEL: 'debug',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4319',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=other',
  BERTH_TEST_CLOCK: '1',
  BERTH_TEST_PATIENCE: '20',
}

/** Settings that are refused when they stand alone. */
const TOGETHER: Record<string, string> = {
  BERTH_OIDC_ISSUER: 'https://login.example.com',
  BERTH_OIDC_CLIENT_ID: 'berth',
  BERTH_OIDC_CLIENT_SECRET: 'a-secret',
  BERTH_S3_ACCESS_KEY_ID: 'key',
  BERTH_S3_SECRET_ACCESS_KEY: 'secret',
  BERTH_TLS_CERT: '/etc/cert.pem',
  BERTH_TLS_KEY: '/etc/cert.key',
  BERTH_SMTP_URL: 'smtp://localhost',
  BERTH_MAIL_FROM: 'mail@example.com',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
}

/** Every text is one of these: it is checked where it is used. */
const ANY_TEXT: Name[] = [
  'HOST',
  'BERTH_FILES_TO',
  'BERTH_BACKUP_TO',
  'BERTH_DATA',
  'BERTH_KEYS',
  'BERTH_SITES_CACHE',
  'BERTH_TLS_CERT',
  'BERTH_TLS_KEY',
]

test('each setting of the table changes the configuration', () => {
  const before = readConfig(TOGETHER)
  for (const [name] of rows)
    assert.notDeepEqual(readConfig({ ...TOGETHER, [name]: SAMPLES[name] }), before, `${name} changes nothing`)
})

test('the default in the table is the value when nothing is set', () => {
  const unset = readConfig({})
  for (const [name, row] of rows) {
    assert.notEqual(row.default === undefined, row.unset === undefined, `${name} has a default, or words in its place`)
    assert.deepEqual(readConfig({ [name]: '' }), unset, `${name}, empty`)
    if (row.default !== undefined) assert.deepEqual(readConfig({ [name]: row.default }), unset, name)
  }
  const { database, keys, edge, mail } = readConfig({ BERTH_DATA: '/data' })
  assert.deepEqual([database, keys], [{ engine: 'sqlite', file: '/data/berth.db' }, { file: '/data/keys.json' }])
  assert.ok(SETTINGS.BERTH_EDGE_PORT.unset.startsWith(`\`${edge.port}\``) && !edge.chosen)
  assert.equal(SETTINGS.BERTH_MAIL_FROM.unset, `\`${mail.from.name} <${mail.from.address}>\``)
})

test('a bad value is refused by a message that begins with the name, and that never repeats a secret', () => {
  const bad = '\u0001 hunter2 \u00a7'
  for (const [name, row] of rows) {
    if (ANY_TEXT.includes(name)) continue
    assert.throws(
      () => readConfig({ [name]: bad }),
      (error) =>
        error instanceof BadSetting &&
        error.message.startsWith(`${name} must be `) &&
        !(row.secret && error.message.includes('hunter2')),
      name,
    )
  }
})

test('settings marked as secret hold a secret, and the others show no password', () => {
  const secrets = rows.filter(([, row]) => row.secret).map(([name]) => name)
  const shaped = rows
    .filter(([name, { kind }]) => /TOKEN$/.test(name) || /password/.test(kind.values))
    .map(([name]) => name)
  assert.deepEqual(
    shaped.filter((name) => !secrets.includes(name)),
    [],
  )
})

test('every BERTH_ variable that the code or a page names is in the table', () => {
  /** Those of the proxies in deploy/, of the tests and of the bench, and examples of mistakes. */
  const others =
    /^BERTH_(TEST_(ROUNDS|POSTGRES|SQLITE|ENGINES|PROGRAMS|STORES|BOUNDS)|DRILL_ROWS|TLS_ISSUER|CADDY_ADMIN|HTTPS?_PORT|EDGE|CLIENTS\w*|OUTSIDE_FIXTURES|SCREENSHOTS|ATTACKS\w*|PORT)$/
  const words = ['grep', '-hoE', '\\bBERTH_[A-Z0-9_]*[A-Z0-9]']
  const found = execFileSync('git', [...words, '--', 'src', 'bin', 'docs/*.md', 'README.md', 'CHANGELOG.md'], {
    cwd: root,
    encoding: 'utf8',
  })
  const named = new Set(found.split('\n').filter((name) => name !== '' && !others.test(name)))
  assert.ok(named.size > 25)
  assert.deepEqual([...named].filter((name) => !Object.hasOwn(SETTINGS, name)).sort(), [])
})

test('docs/settings.md is what the table makes', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts', 'settings.ts'), '--check'], {
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
})

test('a token stays out of what is known of a mistake in a name', () => {
  const config: Config = readConfig({ BERTH_TOKN: 'hunter2', BERTH_PORT: 'tcp://10.0.0.1:80' })
  assert.deepEqual(config.unknown, [
    'BERTH_PORT is no setting; did you mean PORT?',
    'BERTH_TOKN is no setting; did you mean BERTH_TOKEN?',
  ])
})

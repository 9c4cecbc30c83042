/** The table of settings: config.ts reads every row of it, and docs/settings.md shows it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadSetting, type Config, readConfig } from '../../../src/config.ts'
import type { Setting } from '../../../src/platform/settings/types.ts'
import { SETTINGS } from '../../../src/settings.ts'
import { root } from '../../support/root.ts'
import { SAMPLES, TOGETHER } from './samples.ts'

type Name = keyof typeof SETTINGS
const rows = Object.entries<Setting>(SETTINGS) as [Name, Setting][]

/** Every text is one of these: it is checked where it is used. */
const ANY_TEXT: Name[] = [
  'HOST',
  'BERTH_FILES_TO',
  'BERTH_BACKUP_TO',
  'BERTH_DATA',
  'BERTH_KEYS',
  'BERTH_RUNNER_CACHE',
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
    assert.notEqual(
      row.default === undefined,
      row.whenUnset === undefined,
      `${name} has a default, or words in its place`,
    )
    assert.deepEqual(readConfig({ [name]: '' }), unset, `${name}, empty`)
    if (row.default !== undefined) assert.deepEqual(readConfig({ [name]: row.default }), unset, name)
  }
  const { database, keys, edge, mail } = readConfig({ BERTH_DATA: '/data' })
  assert.deepEqual([database, keys], [{ engine: 'sqlite', file: '/data/berth.db' }, { file: '/data/keys.json' }])
  assert.ok(SETTINGS.BERTH_EDGE_PORT.whenUnset.startsWith(`\`${edge.port}\``) && !edge.chosen)
  assert.equal(SETTINGS.BERTH_MAIL_FROM.whenUnset, `\`${mail.from.name} <${mail.from.address}>\``)
})

test('a bad value is refused by a message that begins with the name, and that never repeats a secret', () => {
  const bad = 'hunter2 \u0001 \u00a7'
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
    .filter(([name, { type }]) => /TOKEN$/.test(name) || /password/.test(type.values))
    .map(([name]) => name)
  assert.deepEqual(
    shaped.filter((name) => !secrets.includes(name)),
    [],
  )
})

test('every BERTH_ variable that the code or a page names is in the table', () => {
  /** Those of the proxies in deploy/, of the tests and of the bench, and examples of mistakes. */
  const others =
    /^BERTH_(TEST_(ROUNDS|FOLDERS|BUILDS|SEED|POSTGRES|SQLITE|ENGINES|PROGRAMS|STORES|BOUNDS|WRITE)|DRILL_ROWS|TLS_ISSUER|CADDY_ADMIN|HTTPS?_PORT|EDGE|CLIENTS\w*|(OUTSIDE|PACKAGE|STATIC)_FIXTURES|SCREENSHOTS|ATTACKS\w*|PORT)$/
  const words = ['grep', '--no-index', '-hoE', '\\bBERTH_[A-Z0-9_]*[A-Z0-9]']
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

test('a token is not in the message about an unknown setting', () => {
  const config: Config = readConfig({ BERTH_TOKN: 'hunter2', BERTH_PORT: 'tcp://10.0.0.1:80' })
  assert.deepEqual(config.unknownSettings, [
    'BERTH_PORT is not a setting; did you mean PORT?',
    'BERTH_TOKN is not a setting; did you mean BERTH_TOKEN?',
  ])
})

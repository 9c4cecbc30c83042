/** No message repeats any part of a secret setting that was not understood: all secret settings, malformed in each way, with all commands. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { COMMANDS } from '../../../src/cli/command/commands.ts'
import type { Command } from '../../../src/cli/command-line/command.ts'
import { BadSetting, readConfig } from '../../../src/config.ts'
import type { Setting } from '../../../src/platform/settings/types.ts'
import { SETTINGS } from '../../../src/settings.ts'
import { berth, berthProcess } from '../../support/clients/command.ts'
import { MANY } from '../../support/iterations.ts'
import { newHome } from '../../support/process.ts'

/** The two halves of each secret below: neither may be printed, wherever the value is split. */
const HALVES = /hunter|4711|swordfish/i

/** What ends a password in a URL, or breaks it, where it is not percent-encoded. */
const ENDS = ['/', '#', '?', '%', '%d4', '/%', '@/', '#@', '?@', '\n', '\u0001', '%zz']
const passwords = ENDS.flatMap((end) => [`hunter${end}swordfish`, `4711${end}swordfish`])
const urls = (scheme: string, path: string) => [
  ...passwords.map((password) => `${scheme}://berth:${password}@127.0.0.1:1${path}`),
  `${scheme}:/berth:hunter4711@127.0.0.1${path}`,
  `"${scheme}://berth:hunter4711@127.0.0.1${path}"`,
  `hunter4711${scheme}://berth@127.0.0.1${path}`,
]
const tokens = [
  'hunter swordfish-4711-hunter',
  'hunter-swordfish-4711\u00a0x',
  'hunterswordfish4711\r\nhunter',
  'hunter',
]
const ring = JSON.stringify({ keys: [{ id: 'hunter', key: Buffer.alloc(32, 'swordfish').toString('base64') }] })

/** What each secret setting may be by mistake. */
const MALFORMED: Record<string, string[]> = {
  DATABASE_URL: [
    ...urls('postgres', '/berth'),
    ...urls('mysql', '/berth'),
    'sqlite://hunter4711',
    'postgres://127.0.0.1:1/berth?user=berth&password=hunter@swordfish',
    'postgres://127.0.0.1:1/berth?user=berth&password=hunter#swordfish',
    'hunter4711',
  ],
  BERTH_SMTP_URL: [...urls('smtp', ''), ...urls('smtps', '/'), ...urls('http', ''), 'hunter4711@swordfish'],
  BERTH_KEYS: [
    `'${ring}'`,
    `"${ring.replaceAll('"', '\\"')}"`,
    Buffer.from(ring).toString('base64'),
    Buffer.alloc(32, 'swordfish').toString('base64'),
    'keys: [{id: hunter, key: swordfish}]',
    `${ring.slice(0, -2)}`,
    ring.replace('"key"', '"kex"'),
    `{"keys": [{"id": "hunter swordfish", "key": "4711"}]}`,
    `{hunter: swordfish}`,
  ],
  OTEL_EXPORTER_OTLP_HEADERS: [
    'hunter4711',
    'Bearer hunter4711',
    'authorization: Bearer hunter4711',
    'authorization=Bearer hunter,swordfish',
    'authorization=hunter%zzswordfish',
    'authorization=hunter%0aswordfish',
    'authorization=hunter%E2%82%ACswordfish',
    'hunter4711=',
  ],
  BERTH_KEYS_PASSPHRASE: ['hunter4711', 'hunter'.repeat(200)],
}

const secrets = Object.entries<Setting>(SETTINGS)
  .filter(([, { secret }]) => secret)
  .map(([name]) => name)
const wrong = secrets.flatMap((name) => (MALFORMED[name] ?? badTokens(name)).map((text) => [name, text] as const))

/** Of a token, what its setting does not take. */
function badTokens(name: string): string[] {
  return [...tokens, 'hunter'.repeat(100)].filter((text) => {
    try {
      readConfig({ [name]: text })
      return false
    } catch {
      return true
    }
  })
}

/** What a command must be given; a place that is not there for each file. */
function wordsOf({ name: words, arguments: takes = [], options = {} }: Command, place: string): string[] {
  const given = Object.entries(options).filter(([, { required }]) => required)
  return [
    ...words.split(' '),
    ...takes.map(({ isFile, oneOf }) => (isFile ? place : (oneOf?.[0] ?? 'one'))),
    ...given.flatMap(([name, { isFile, oneOf }]) => [`--${name}`, isFile ? place : (oneOf?.[0] ?? 'one')]),
  ]
}

/** Where every command is at its end soon: nothing answers at these places. */
async function nowhere(t: TestContext): Promise<Record<string, string>> {
  const { folder } = await newHome(t, 'sqlite')
  return {
    BERTH_DATA: folder,
    PORT: '1',
    BERTH_EDGE_PORT: 'off',
    BERTH_DNS_SERVERS: '127.0.0.1:1',
    BERTH_MAIL_FROM: 'berth@example.com',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  }
}

test('each malformed secret is refused, by a sentence that names the setting and repeats nothing of it', () => {
  for (const name of secrets) assert.ok(wrong.filter(([of]) => of === name).length >= 2, `${name} has no mistake`)
  for (const [name, text] of wrong) {
    // What is in a keyring is judged when it is opened.
    if (name === 'BERTH_KEYS' && text.startsWith('{')) continue
    assert.throws(
      () => readConfig({ BERTH_MAIL_FROM: 'berth@example.com', [name]: text }),
      (error) => error instanceof BadSetting && error.message.startsWith(name) && !HALVES.test(error.message),
      `${name}=${text}`,
    )
  }
})

test('a password that is percent-encoded is taken as it is, and so is one with an @', () => {
  const encoded = encodeURIComponent('a/b#c?d%e@f')
  for (const [url, want] of [
    [`postgres://berth:${encoded}@db:5433/berth`, 'a/b#c?d%e@f'],
    ['postgres://berth:p@ss@db:5433/berth', 'p@ss'],
  ] as const) {
    const { database } = readConfig({ DATABASE_URL: url })
    assert.ok(database.engine === 'postgres')
    const { host, pathname, password } = new URL(database.url)
    assert.deepEqual([host, pathname, decodeURIComponent(password)], ['db:5433', '/berth', want])
  }
  const socket = readConfig({ DATABASE_URL: 'postgres://%2Fvar%2Frun%2Fpostgresql/berth' }).database
  assert.deepEqual(socket, { engine: 'postgres', url: 'postgres://%2Fvar%2Frun%2Fpostgresql/berth' })
})

test('a URL with a user in a setting that takes none is not repeated either', () => {
  for (const name of [
    'BERTH_PUBLIC_URL',
    'BERTH_OIDC_ISSUER',
    'BERTH_S3_ENDPOINT',
    'BERTH_FILES_TO',
    'BERTH_BACKUP_TO',
  ])
    for (const scheme of ['https', 's3', 'http'])
      assert.doesNotMatch(refusalOf(name, `${scheme}://berth:hunter4711@swordfish/place`), HALVES, name)
  assert.match(refusalOf('BERTH_PUBLIC_URL', 'ftp://shop.example.com'), /not "ftp:\/\/shop\.example\.com"$/)
})

function refusalOf(name: string, text: string): string {
  try {
    readConfig({ [name]: text })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('no command repeats any part of a secret setting that was not understood', async (t) => {
  const env = await nowhere(t)
  const place = join(env.BERTH_DATA!, 'absent')
  const some = secrets.flatMap((name) => wrong.filter(([of]) => of === name).filter(isWorthAll))
  let told = 0
  for (const [name, text] of some)
    for (const command of COMMANDS) {
      // They keep running, or read what is typed.
      if (['serve', 'sites', 'completion', 'token revoke'].includes(command.name)) continue
      const { code, out, err } = await berth(wordsOf(command, place), { ...env, [name]: text })
      assert.doesNotMatch(out + err, HALVES, `${command.name}, ${name}=${text}`)
      if (code !== 0) told++
    }
  assert.ok(told > some.length * 20, `${told} commands ended with a sentence`)
})

/** What one reader refuses is refused alike for every command: the first of each setting stand for it, and what is judged later stands for itself. */
function isWorthAll([name, text]: readonly [string, string], at: number): boolean {
  return at < 2 || refusalOf(name, text) === ''
}

test('a start does not either, whether the setting is in the environment or in a file', async (t) => {
  const env = await nowhere(t)
  const folder = join(env.BERTH_DATA!, '..', 'credentials')
  mkdirSync(folder)
  // In `npm test` each is in one of the two places, by turns.
  const mistakes = [
    ['DATABASE_URL', 'postgres://berth:4711/swordfish@127.0.0.1:1/berth'],
    ['DATABASE_URL', 'postgres://berth:hunter%d4swordfish@127.0.0.1:1/berth'],
    ['BERTH_SMTP_URL', 'smtp://berth:4711#swordfish@127.0.0.1:1'],
    ['BERTH_KEYS', ring.slice(0, -2)],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer hunter,swordfish'],
  ] as const
  for (const [at, [name, text]] of mistakes.entries()) {
    writeFileSync(join(folder, name), text)
    const starts = [
      () => berthProcess(['serve'], { ...env, [name]: text }),
      () => berthProcess([], { ...env, CREDENTIALS_DIRECTORY: folder }),
    ]
    for (const start of MANY ? starts : [starts[at % 2]!]) {
      const { code, out, err } = await start()
      assert.equal(code, 78, `${name}: ${out}${err}`)
      assert.match(err, new RegExp(`^berth: ${name}`))
      assert.doesNotMatch(out + err, HALVES)
    }
    writeFileSync(join(folder, name), '')
  }
})

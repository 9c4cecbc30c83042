/** Every command, over broken files: an error says which file or setting, what is wrong and what to do. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { COMMANDS } from '../../../src/cli/command/commands.ts'
import type { Argument, Command, Option } from '../../../src/cli/command-line/command.ts'
import { berth, berthProcess } from '../../support/clients/command.ts'
import { newHome } from '../../support/process.ts'

/** Messages of a system, an engine or a parser, which help no user. */
const RAW =
  /\bE(?:NOENT|NOTDIR|ISDIR|ACCES|PERM|EXIST|ROFS)\b|SyntaxError|TypeError|Error:|\bJSON at\b|disk I\/O|unable to open|not a database|undefined|\[object|\bat .*:\d+:\d+|should NOT/

const FILES = ['credentials.json', 'keys.json', 'berth.db']

/** What may be in the place of the data folder, and what a command cannot do then. */
const DATA: Record<string, (folder: string) => void> = {
  'no data folder': () => {},
  'a file in its place': (folder) => writeFileSync(folder, 'x'),
  'damaged files': (folder) => {
    mkdirSync(folder)
    for (const name of FILES) writeFileSync(join(folder, name), '{"token": "', { mode: 0o600 })
  },
  'folders in the place of files': (folder) => {
    mkdirSync(folder)
    for (const name of FILES) mkdirSync(join(folder, name), { mode: 0o700 })
  },
}

/** The words of a command with everything that it can take a place for, and no more than it needs otherwise. */
function wordsOf({ name: words, arguments: takes = [], options = {} }: Command, place: string): string[] {
  const wordFor = ({ isFile, oneOf }: Pick<Argument & Option, 'isFile' | 'oneOf'>) =>
    isFile ? place : (oneOf?.[0] ?? 'https://one.example')
  const given = Object.entries(options).filter(([, option]) => option.required || option.isFile)
  return [...words.split(' '), ...takes.map(wordFor), ...given.flatMap(([name, one]) => [`--${name}`, wordFor(one)])]
}

async function newFolder(t: TestContext): Promise<string> {
  const { folder } = await newHome(t, 'sqlite')
  mkdirSync(folder)
  mkdirSync(join(folder, 'a folder'))
  return folder
}

for (const [what, make] of Object.entries(DATA))
  test(`no command prints the raw error of a system: ${what}`, async (t) => {
    const folder = await newFolder(t)
    let refused = 0
    for (const command of COMMANDS) {
      // They run, or read what is typed: below.
      if (['serve', 'completion', 'token revoke'].includes(command.name)) continue
      for (const place of ['a folder', 'absent']) {
        const data = join(folder, `${command.name} ${place}`)
        make(data)
        const { code, err, out } = await berth(wordsOf(command, join(folder, place)), {
          BERTH_DATA: data,
          BERTH_PUBLIC_URL: 'http://127.0.0.1:1',
          BERTH_KEYS_PASSPHRASE: 'correct horse battery staple',
          BERTH_DNS_SERVERS: '127.0.0.1:1',
        })
        assert.doesNotMatch(err + out, RAW, `${command.name} (${place})`)
        if (code === 0) continue
        assert.ok(/^berth: \S/m.test(err) || command.name === 'doctor', `${command.name}: ${err}${out}`)
        refused++
      }
    }
    assert.ok(refused > COMMANDS.length, `${refused} were refused`)
  })

test('a start also names what is in the place of its files', async (t) => {
  const folder = await newFolder(t)
  const said: Record<string, [code: number, RegExp]> = {
    'a file in its place': [78, /^berth: BERTH_DATA must be a folder, and \S+ is a file\n$/],
    'damaged files': [1, /^berth: \S+berth\.db is damaged, or no store of Berth/],
    'folders in the place of files': [
      1,
      /^berth: \S+berth\.db must be the file of a store, and is a folder: see BERTH_DATA/,
    ],
  }
  for (const [what, [code, expected]] of Object.entries(said)) {
    const data = join(folder, what.replaceAll(' ', '-'))
    DATA[what]!(data)
    const ended = await berthProcess(['serve'], { BERTH_DATA: data, PORT: '0', BERTH_EDGE_PORT: 'off' })
    assert.equal(ended.code, code, ended.err)
    assert.match(ended.err, expected)
  }
})

test('a file that a command reads or writes is named as it was typed, with what to do', async (t) => {
  const folder = await newFolder(t)
  const at = (name: string) => join(folder, name)
  const said = async (words: string[], input?: string) => {
    const { code, err } = await berth(words, { BERTH_DATA: at('data'), BERTH_KEYS_PASSPHRASE: 'x'.repeat(20) }, input)
    return [code, err.trim()]
  }
  const target = ['--target', 'production']
  assert.deepEqual(await said(['env', 'import', 'web', at('no.env'), ...target]), [
    1,
    `berth: ${at('no.env')} is not there`,
  ])
  assert.deepEqual(await said(['env', 'import', 'web', at('a folder'), ...target]), [
    1,
    `berth: ${at('a folder')} is a folder: name a file`,
  ])
  const absent = join(folder, 'none', 'copy')
  assert.deepEqual(await said(['keys', 'import', absent]), [
    1,
    `berth: the folder ${join(folder, 'none')} is not there: make it first`,
  ])
  assert.deepEqual(await said(['welcome']), [
    1,
    `berth: ${at('data/credentials.json')} is not there: start Berth once, or set BERTH_DATA to its data folder`,
  ])
  assert.deepEqual(await said(['token', 'revoke'], ' \n'), [
    64,
    'berth: stdin holds no token: give it there, such as by < file',
  ])
  writeFileSync(at('copy.db'), 'mine')
  assert.equal((await said(['migrate']))[0], 0)
  assert.equal((await said(['backup', at('copy.db')]))[0], 1)
  assert.equal(readFileSync(at('copy.db'), 'utf8'), 'mine')
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('.')),
    [],
  )
})

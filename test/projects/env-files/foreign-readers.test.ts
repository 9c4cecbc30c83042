/**
 * What Berth writes is read back to the same values by others: `dotenv` (both of its parsers), node's `parseEnv`, and a shell where the text
 * does not say that it is none for it. A value that they do not agree about is left out. docs/variables.md: Text export.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseEnv } from 'node:util'
import dotenv from 'dotenv'
import fc from 'fast-check'
import { parseDotenv, reasonLeftOut, writeDotenv } from '../../../src/projects/env-files/dotenv.ts'
import { iterations } from '../../support/iterations.ts'

type Variables = Record<string, string>

function byBerth(text: string): Variables {
  const { entries, bad } = parseDotenv(text)
  assert.deepEqual(bad, [])
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]))
}

const READERS: [string, (text: string) => Variables][] = [
  ['Berth', byBerth],
  ['dotenv', (text) => dotenv.parse(text)],
  ['dotenv, fast', (text) => dotenv.parse(text, { fast: true })],
  ['parseEnv', (text) => ({ ...parseEnv(text) }) as Variables],
]

const isForShell = (text: string) => !text.startsWith('# Not for a shell')
const carried = (variables: Variables) =>
  Object.fromEntries(Object.entries(variables).filter(([, value]) => reasonLeftOut(value) === undefined))

/** Signs that mean something to one of the readers are likelier than others. */
const PARTS = '\' " ` \\ # $ = : ! & ; ( ~ * a B 7 _ - é 🚢'
  .split(' ')
  .concat([' ', '\n', '\t', '\r', '\u2028', '\u00A0', '\uFEFF', '\x01', '\\n', '\\r', '\\\\', '\\"', "\\'", '\\`'])
  .concat(['\r\n', '\nX=1', "'\nX='", '\n# ', '#ff0000', 'C:\\data\\', '$(id)', '`id`', 'export ', '{"a":"b"}'])
const value = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...PARTS), { maxLength: 8 }).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', '0')) },
)
const key = fc.oneof(
  fc.constantFrom('A', 'B', 'export', 'exportA', 'SECRET_KEY', '_'),
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/).map((name) => `K${name}`),
)
const variables = fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true })

const ROUNDS = iterations(2_000, 100_000)

test('generated variables, written, are read back to the same values by every reader, or are left out', () => {
  fc.assert(
    fc.property(variables, fc.array(key, { maxLength: 2 }), (given, omitted) => {
      const text = writeDotenv(given, omitted)
      for (const [name, read] of READERS) assert.deepEqual(read(text), carried(given), `${name} of ${text}`)
    }),
    { numRuns: ROUNDS },
  )
})

/** The values that a shell has after it read each text. One shell process reads all of them, each in a new environment. */
function readByShell(t: TestContext, shell: string, sets: { text: string; keys: string[] }[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'berth-env-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const script = sets.map(({ text, keys }, at) => {
    writeFileSync(join(folder, `${at}.env`), text)
    return `(. ./${at}.env; printf '%s\\0' ${keys.map((name) => `"$${name}"`).join(' ')} end)`
  })
  writeFileSync(join(folder, 'read.sh'), script.join('\n'))
  const { stdout, stderr } = spawnSync(shell, ['read.sh'], {
    cwd: folder,
    env: {},
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  assert.equal(stderr, '')
  const all = stdout.split('\0')
  let at = 0
  return sets.map(({ keys }) => {
    const values = all.slice(at, at + keys.length + 1)
    at += keys.length + 1
    assert.equal(values.pop(), 'end')
    return values
  })
}

test('a shell reads generated variables back to the same values, unless the text begins by saying that it is not for one', (t) => {
  // `_` is the shell's own: it changes with each command.
  const named = variables.map(({ _, ...rest }) => rest)
  const all = fc
    .sample(named, iterations(1_000, 20_000))
    .map((given) => ({ given: carried(given), text: writeDotenv(given, ['LEFT']) }))
  const sets = all.filter(({ text }) => isForShell(text))
  const share = sets.length / all.length
  assert.ok(share > 0.3 && share < 0.95, `${share} of the texts are for a shell`)
  const asked = sets.map(({ given, text }) => ({ text, keys: Object.keys(given) }))
  const read = readByShell(t, 'sh', asked)
  for (const [at, { given, text }] of sets.entries()) assert.deepEqual(read[at], Object.values(given), text)
})

test('a text with a value that a shell would change or run starts with a warning that names it', () => {
  const text = writeDotenv({ A: 'plain', B: `it's "$(id)"`, C: 'D:\\' }, [])
  assert.match(text, /^# Not for a shell, which would change or run the values of B, C\n/)
  const many = writeDotenv(Object.fromEntries([...'ABCDEF'].map((name) => [name, `'"${name}`])), [])
  assert.match(many, /^# Not for a shell, which would change or run the values of A, B, C and 3 more\n/)
  assert.doesNotMatch(writeDotenv({ A: "it's", B: '"', C: '#', D: 'a\nb', E: '$B', F: '' }, []), /shell/)
})

const REPORTED: Variables = { A_DIR: 'C:\\data\\', BRAND_COLOR: '#ff0000', HOME_DIR: 'D:\\my files\\', LAST: 'x' }

test('a value that ends with a backslash does not swallow the next one', () => {
  const text = writeDotenv(REPORTED, [])
  for (const [name, read] of READERS) assert.deepEqual(read(text), REPORTED, name)
})

for (const [what, left, why] of [
  ['a carriage return', 'a\r\nb', 'a carriage return'],
  ['all three quotes', '\'"`', 'all three kinds of quotes'],
  ['a backslash at its end, and what only quotes carry', '#\\', 'a backslash at its end'],
] as const) {
  test(`a value with ${what} is left out, and a comment in its place gives the reason`, () => {
    const text = writeDotenv({ A: left, B: 'x' }, [])
    for (const [name, read] of READERS) assert.deepEqual(read(text), { B: 'x' }, name)
    assert.match(text, new RegExp(`^# A is left out: .*${why}`, 'm'))
  })
}

test('Berth reads double quotes as their writers mean them: a quote closes unless an odd number of backslashes is before it', () => {
  const windows = 'WINDIR="C:\\\\Users\\\\me\\\\"\nPORT=80\nNAME="x"\n'
  assert.deepEqual(byBerth(windows), { WINDIR: 'C:\\\\Users\\\\me\\\\', PORT: '80', NAME: 'x' })
  assert.deepEqual(byBerth(windows), dotenv.parse(windows))
  const body = fc.array(fc.constantFrom('\\\\', '\\"', 'a', ' ', '#', '\n', "'", '`'), { maxLength: 12 })
  fc.assert(
    fc.property(body, body, (first, second) => {
      const text = `A="${first.join('')}"\nexport B="${second.join('')}" # "\nC=1`
      assert.deepEqual(byBerth(text), { A: first.join(''), B: second.join(''), C: '1' })
    }),
    { numRuns: ROUNDS },
  )
  assert.match(parseDotenv('A="C:\\"\nB=1').bad[0]!.message, /never closed.*backslash/)
})

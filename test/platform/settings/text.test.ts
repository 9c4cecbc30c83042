/** What no setting may look like, whatever it is for. src/platform/settings/types.ts; docs/settings.md. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../../src/config.ts'
import type { Setting } from '../../../src/platform/settings/types.ts'
import { SETTINGS } from '../../../src/settings.ts'
import { newHome, runUntilExit } from '../../support/process.ts'
import { SAMPLES, TOGETHER } from './samples.ts'

const rows = Object.entries<Setting>(SETTINGS)

/** The sentence of a refusal, without the name of the setting. Fails where the text is taken. */
function refusalOf(name: string, text: string): string {
  try {
    readConfig({ ...TOGETHER, [name]: text })
  } catch (error) {
    assert.ok(error instanceof BadSetting, `${name}=${JSON.stringify(text)}: ${error}`)
    return error.message
  }
  assert.fail(`${name} takes ${JSON.stringify(text)}`)
}

test('no setting takes its value with quotes around it, and none repeats a secret in saying so', () => {
  for (const [name, { secret }] of rows)
    for (const quoted of ['"?"', "'?'", '`?`', '“?”', '‘?’', '„?“', '«?»']) {
      const sample = SAMPLES[name as keyof typeof SAMPLES]
      const said = refusalOf(
        name,
        quoted.replace('?', () => sample),
      )
      assert.ok(said.startsWith(`${name} must be without the quotes around it`), said)
      assert.ok(!secret || !said.includes(sample), said)
    }
})

test('no setting takes white space or a control character at its ends, and the sentence names the character', () => {
  const marks = { '\r': 'U+000D', '\n': 'U+000A', '\t': 'U+0009', ' ': 'U+0020', '\u00a0': 'U+00A0' }
  const unseen = { '\ufeff': 'U+FEFF', '\u200b': 'U+200B', '\u0001': 'U+0001', '\u2028': 'U+2028' }
  for (const [name, { secret }] of rows) {
    const sample = SAMPLES[name as keyof typeof SAMPLES]
    // White space around JSON does not belong to it (RFC 8259, 2).
    const taken = sample.startsWith('{') ? /[\r\n\t ]/ : /^\b$/
    for (const [mark, code] of Object.entries({ ...marks, ...unseen }))
      for (const [text, end] of [
        [mark + sample, 'begin'],
        [sample + mark, 'end'],
      ] as const) {
        if (taken.test(mark)) {
          assert.deepEqual(readConfig({ ...TOGETHER, [name]: text }), readConfig({ ...TOGETHER, [name]: sample }), name)
          continue
        }
        const said = refusalOf(name, text)
        assert.ok(said.startsWith(`${name} must not ${end} with `) && said.includes(code), said)
        assert.ok(!secret || !said.includes(sample), said)
      }
  }
})

test('a scheme in capitals is refused by each setting that takes one', () => {
  const withScheme = rows.filter(([name]) => /^[a-z0-9]+:\/\//.test(SAMPLES[name as keyof typeof SAMPLES]))
  assert.ok(withScheme.length >= 8, 'settings that hold an address')
  for (const [name, { secret }] of withScheme) {
    const sample = SAMPLES[name as keyof typeof SAMPLES]
    const [scheme = ''] = sample.split(':', 1)
    for (const other of [scheme.toUpperCase(), scheme[0]!.toUpperCase() + scheme.slice(1)]) {
      const said = refusalOf(name, other + sample.slice(scheme.length))
      assert.ok(said.startsWith(`${name} must have what is before its "://" in lower case`), said)
      assert.ok(!secret || !said.includes(sample.slice(scheme.length + 3)), said)
    }
  }
})

test('a setting that names a path takes no address, and no quote at one of its ends', () => {
  const paths = rows.filter(([name]) => /^a path|^`sqlite:/.test(SETTINGS[name as keyof typeof SETTINGS].type.values))
  assert.ok(paths.length >= 8)
  for (const [name] of paths) {
    const prefix = name === 'DATABASE_URL' ? 'sqlite:' : ''
    for (const wrong of ['gs://bucket/x', 'file:///srv/x', 'https://example.com/x', 'S3:bucket', 's3:', 'gs:bucket'])
      assert.match(refusalOf(name, prefix + wrong), new RegExp(`^${name} `))
    for (const wrong of ['"s3://bucket', '"/srv/x', "'/srv/x", '/srv/x"', "/srv/x'"])
      assert.match(refusalOf(name, prefix + wrong), new RegExp(`^${name} must not (begin|end) with a quote`))
    // A folder may be called so: it is written as a path.
    assert.doesNotThrow(() => readConfig({ ...TOGETHER, [name]: `${prefix}./gs:"x"/y` }), name)
  }
})

test('a JSON setting may have several lines, as YAML writes it', () => {
  assert.deepEqual(
    readConfig({ BERTH_BUDGETS: ' {\n "projects": 7\n}\n' }),
    readConfig({ BERTH_BUDGETS: '{"projects":7}' }),
  )
})

test('the program ends with 78 and makes no folder that has the quotes of an env file in its name', async (t) => {
  const home = await newHome(t, 'sqlite')
  const cwd = dirname(home.folder)
  const { code, err } = await runUntilExit(t, { ...home, cwd }, { BERTH_DATA: `"${home.folder}"` })
  assert.deepEqual([code, err.split('\n').length], [78, 2], err)
  assert.match(err, /^berth: BERTH_DATA must be without the quotes around it: /)
  assert.deepEqual(readdirSync(cwd), [])
})

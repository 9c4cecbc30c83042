/** Secrets in files, as systemd, Compose and Kubernetes give them. docs/deploying.md: Secrets. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BadSetting, readConfig } from '../../../src/config.ts'
import type { Setting } from '../../../src/platform/settings/types.ts'
import { SETTINGS } from '../../../src/settings.ts'

const [IN_FILE, IN_ENVIRONMENT] = ['token-that-lies-in-a-file', 'token-that-is-in-the-environment']

function folderWith(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-credentials-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

test('every secret setting may be a file of its name, and no other setting may', (t) => {
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const folder = folderWith(t, { [name]: '' })
    rmSync(join(folder, name))
    mkdirSync(join(folder, name))
    const read = () => readConfig({ CREDENTIALS_DIRECTORY: folder })
    // A directory cannot be read as a value, so it shows which names are looked for.
    if (setting.secret)
      assert.throws(read, (error) => error instanceof BadSetting && error.message.startsWith(name), name)
    else assert.doesNotThrow(read, name)
  }
})

test('a set variable counts before the file, an empty variable is not set, and one line end is dropped', (t) => {
  for (const text of [IN_FILE, `${IN_FILE}\n`, `${IN_FILE}\r\n`]) {
    const env = { CREDENTIALS_DIRECTORY: folderWith(t, { BERTH_OPERATOR_TOKEN: text }) }
    assert.equal(readConfig(env).operatorToken, IN_FILE)
    assert.equal(readConfig({ ...env, BERTH_OPERATOR_TOKEN: '' }).operatorToken, IN_FILE)
    assert.equal(readConfig({ ...env, BERTH_OPERATOR_TOKEN: IN_ENVIRONMENT }).operatorToken, IN_ENVIRONMENT)
  }
  const twoLines = folderWith(t, { BERTH_OPERATOR_TOKEN: `${IN_FILE}\n\n` })
  assert.throws(() => readConfig({ CREDENTIALS_DIRECTORY: twoLines }), /BERTH_OPERATOR_TOKEN must not end with white/)
})

test('without the folder, or without files in it, nothing is read', (t) => {
  for (const folder of ['', '/no/such/folder', folderWith(t, {})])
    assert.deepEqual(readConfig({ CREDENTIALS_DIRECTORY: folder }), readConfig({}))
})

test('a file that cannot be read refuses the start with the name of the setting, and is not repeated', (t) => {
  const folder = folderWith(t, { BERTH_OPERATOR_TOKEN: 'x'.repeat(65_537) })
  assert.throws(
    () => readConfig({ CREDENTIALS_DIRECTORY: folder }),
    /^Error: BERTH_OPERATOR_TOKEN: .* at most 65536 bytes$/,
  )
  rmSync(join(folder, 'BERTH_OPERATOR_TOKEN'))
  symlinkSync('BERTH_OPERATOR_TOKEN', join(folder, 'BERTH_OPERATOR_TOKEN'))
  assert.throws(
    () => readConfig({ CREDENTIALS_DIRECTORY: folder }),
    /^Error: BERTH_OPERATOR_TOKEN: cannot read .* \(ELOOP\)$/,
  )
})

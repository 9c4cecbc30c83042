/** Each variable that a recipe of deploy/ sets is a setting, and Berth takes what it is set to. docs/deploying.md. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import type { Setting } from '../../src/platform/settings/types.ts'
import { SETTINGS } from '../../src/settings.ts'
import { root } from '../support/root.ts'
import { containerOf, documentsOf, unitOf } from './recipes.ts'

const secrets = Object.entries<Setting>(SETTINGS).flatMap(([name, { secret }]) => (secret ? [name] : []))
/** What the allocator and systemd read. */
const OF_OTHERS = /^(MALLOC_ARENA_MAX|MALLOC_MMAP_THRESHOLD_|CREDENTIALS_DIRECTORY)$/

const UNITS = ['deploy/berth.service', 'deploy/berth-sites.service', 'deploy/berth-runner.service']

/** Variable -> text, by recipe. */
const recipes: Record<string, Record<string, string>> = {
  ...Object.fromEntries(
    UNITS.map((file) => [
      file,
      Object.fromEntries(
        unitOf(file).flatMap(([name, text]) =>
          name === 'Environment' ? text.split(' ').map((pair) => pair.split('=', 2)) : [],
        ),
      ),
    ]),
  ),
  'deploy/compose.yaml': documentsOf('deploy/compose.yaml')[0].services.berth.environment,
  ...Object.fromEntries(
    globSync('deploy/kubernetes/*.yaml', { cwd: root }).map((file) => [
      file,
      Object.fromEntries(
        containerOf(file).env.map(({ name, value }: { name: string; value: string }) => [name, value]),
      ),
    ]),
  ),
}

test('each variable of a recipe is a setting, no secret is written down, and Berth takes the values', () => {
  assert.equal(Object.keys(recipes).length, 6)
  for (const [file, variables] of Object.entries(recipes)) {
    assert.ok(Object.keys(variables).length > 0, file)
    for (const [name, text] of Object.entries(variables)) {
      assert.equal(typeof text, 'string', `${file}: ${name} is a text`)
      if (OF_OTHERS.test(name)) continue
      assert.ok(Object.hasOwn(SETTINGS, name), `${file}: ${name} is not a setting`)
      assert.ok(!secrets.includes(name), `${file}: ${name} is secret`)
    }
    // Compose puts the default in where nothing is set.
    const values = Object.entries(variables).map(([name, text]) => [name, text.replace(/^\$\{\w+:-(.*)\}$/, '$1')])
    const { CREDENTIALS_DIRECTORY: _, ...env } = Object.fromEntries(values)
    assert.deepEqual(readConfig(env).unknownSettings, [], file)
  }
})

const credentialsOf = (unit: string) =>
  unitOf(unit).flatMap(([name, text]) => (name === 'LoadCredential' ? [text] : []))

/** TABLE secret settings that the service does not take so: of commands alone, and the keyring, which is in the data directory. */
const NOT_OF_THE_SERVICE = ['BERTH_TOKEN', 'BERTH_KEYS_PASSPHRASE', 'BERTH_KEYS']

test('the unit of the service takes each secret that it reads, also those that it shares with the other units', () => {
  const taken = credentialsOf('deploy/berth.service')
  assert.deepEqual(taken.toSorted(), secrets.filter((name) => !NOT_OF_THE_SERVICE.includes(name)).sort())
})

test('each credential of the units is a secret setting', () => {
  const names = UNITS.flatMap(credentialsOf)
  assert.ok(names.length > 3)
  assert.deepEqual(
    names.filter((name) => !secrets.includes(name)),
    [],
  )
})

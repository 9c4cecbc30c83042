/** Each variable that a recipe of deploy/ sets is a setting, and Berth takes what it is set to. docs/deploying.md. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import type { Setting } from '../../src/platform/settings/types.ts'
import { SETTINGS } from '../../src/settings.ts'
import { root } from '../support/root.ts'
import { containerOf, documentsOf, unitOf } from './recipes.ts'

const secrets = Object.entries<Setting>(SETTINGS).flatMap(([name, { secret }]) => (secret ? [name] : []))
/** What the allocator, systemd and npm read. */
const OF_OTHERS = /^(MALLOC_ARENA_MAX|MALLOC_MMAP_THRESHOLD_|CREDENTIALS_DIRECTORY|npm_config_cache)$/

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

test('what docs/deploying.md sets in units is taken as it is written', () => {
  const page = readFileSync(join(root, 'docs/deploying.md'), 'utf8')
  const units = page.matchAll(/^ *\[Service\]\n((?: *\w+=.*\n)+)/gm)
  const blocks = [...units].map(([, lines]) => [...lines!.matchAll(/^ *Environment=(.*)$/gm)].flatMap(pairsOf))
  assert.ok(blocks.length >= 4)
  for (const pairs of blocks) {
    assert.ok(pairs.length > 0)
    assert.deepEqual(readConfig(Object.fromEntries(pairs)).unknownSettings, [])
  }
})

test('no page or recipe asks the listener for proxies by https, which it does not speak', () => {
  const files = ['README.md', ...globSync(['docs/*.md', 'deploy/**/*.{service,yaml}'], { cwd: root })]
  const wrong = files.filter((file) =>
    /BERTH_(RUNNER_URL|SITES_CONTROL_PLANE)=https/.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(wrong, [])
})

function pairsOf([, text]: RegExpExecArray | RegExpMatchArray): [name: string, value: string][] {
  return text!.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
}

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

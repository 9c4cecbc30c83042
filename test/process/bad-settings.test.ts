/** Settings that the real program cannot start with. docs/operations.md: Start and stop. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../src/config.ts'
import { newHome, runUntilExit } from '../support/process.ts'

test('a bad setting ends the program with 78 and a line that names it, and nothing is made', async (t) => {
  const home = await newHome(t, 'sqlite')
  const bad: Record<string, string[]> = {
    PORT: ['abc', '70000', '-1', '3000x', '1e3', ' '],
    BERTH_PUBLIC_URL: [
      'ftp://x',
      'x',
      'http://',
      'https://example.com/berth',
      'https://example.com?a',
      'https://a@example.com',
    ],
    BERTH_EDGE_TOKEN: ['x', 'nineteen-characters', `${'x'.repeat(20)}/`],
    DATABASE_URL: [
      'mysql://u:hunter2@h/d',
      'sqlite:',
      'sqlite://foo.db',
      'sqlite:///foo.db',
      'postgres://u:hunter2@h:port/d',
      '/path',
    ],
    BERTH_OPERATOR_TOKEN: ['short', `with space ${'x'.repeat(30)}`, 'x'.repeat(257), `${'x'.repeat(20)}é`],
    BERTH_LOG_LEVEL: ['loud', 'INFO'],
    BERTH_TEST_CLOCK: ['yes', '2'],
    BERTH_TEST_PATIENCE: ['0', '101', 'long'],
    BERTH_TIMERS: ['maybe', '1'],
  }
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      assert.throws(
        () => readConfig({ [name]: value }),
        (error) => error instanceof BadSetting && error.message.startsWith(name),
      )
    }
  }
  await Promise.all(
    // What is thrown is reported in one place, so few are asked of the program.
    ['PORT', 'DATABASE_URL'].map(async (name) => {
      const value = bad[name]![0]
      const { code, out, err } = await runUntilExit(t, home, { [name]: value! })
      assert.equal(code, 78, `${name}=${value}: ${out}${err}`)
      assert.ok(err.startsWith(`berth: ${name} `) && err.split('\n').length === 2, err)
      assert.equal(err.includes('hunter2'), false)
    }),
  )
  assert.equal(existsSync(home.folder), false)
})

test('a PostgreSQL that is not there or refuses the login is named in the error', async (t) => {
  const home = await newHome(t, 'postgres')
  const wrong = home.env.DATABASE_URL!.replace('berth:berth@', 'berth:no@')
  for (const [DATABASE_URL, why] of [
    ['postgres://a:hunter2@127.0.0.1:1/x', /ECONNREFUSED/],
    [wrong, /password/],
    [home.env.DATABASE_URL!.replace(/[^/]*$/, 'nosuch'), /does not exist/],
  ] as const) {
    const { code, err } = await runUntilExit(t, home, { DATABASE_URL, BERTH_START_WAIT_SECONDS: '0' })
    assert.deepEqual([code, /version/.test(err), /hunter2/.test(err)], [1, false, false], err)
    assert.match(err, why)
  }
})

test('a folder that cannot be made and an address of another machine are bad settings', async (t) => {
  const home = await newHome(t, 'sqlite')
  for (const env of [{ BERTH_DATA: '/proc/x' }, { BERTH_DATA: '/dev/null/x' }, { HOST: '203.0.113.1' }]) {
    const { code, err } = await runUntilExit(t, home, { BERTH_START_WAIT_SECONDS: '0', ...env })
    assert.deepEqual([code, err.startsWith(`berth: ${Object.keys(env)[0]}`)], [78, true], err)
  }
})

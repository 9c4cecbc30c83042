/** Start, first words, stop and settings of the real program. docs/operations.md: Start and stop. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  credentialsOf,
  newHome,
  processOnBothEngines,
  runUntilExit,
  sendRequest,
  startService,
} from '../support/process.ts'
import { root } from '../support/root.ts'

/** Runs the `curl` line of the greeting as a user would: pasted into bash. */
function paste(out: string): { name: string } {
  const line = /^ {2}(curl .*)$/m.exec(out)?.[1]?.replace('curl ', 'curl -s ') ?? assert.fail(out)
  return JSON.parse(execFileSync('bash', ['-c', line], { cwd: root, encoding: 'utf8', timeout: 300_000 }))
}

processOnBothEngines(
  'the first start says where it is and how to call it, and the printed curl works as printed',
  async (t, engine) => {
    const home = await newHome(t, engine, 'my data')
    const first = await startService(t, home)
    assert.match(first.out(), /^berth listening on http:\/\/127\.0\.0\.1:\d+\n/)
    const credentials = credentialsOf(home)
    // No terminal, so perhaps a log collector: the file is named, and no token.
    for (const secret of [credentials.token, credentials.operatorToken])
      assert.equal(first.out().includes(secret), false)
    assert.doesNotMatch(first.out(), /Sites are at/, 'none is started')
    assert.match(first.out(), /^First start: .*credentials\.json'?$/m)
    assert.match(first.out(), /^To deploy .* run: berth link-cli --team team$/m)
    assert.equal(paste(first.out()).name, 'hello')
    assert.equal(statSync(join(home.folder, 'credentials.json')).mode & 0o777, 0o600)
    assert.equal(statSync(home.folder).mode & 0o077, 0, 'no other user reads the folder')
    for (const file of readdirSync(home.folder)) assert.equal(statSync(join(home.folder, file)).mode & 0o077, 0, file)
    assert.equal(await first.kill('SIGTERM'), 0)
    assert.equal(first.err(), '')

    const second = await startService(t, home)
    assert.match(second.out(), /^berth listening on http:\/\/127\.0\.0\.1:\d+\n/)
    assert.deepEqual(credentialsOf(home), credentials)
    assert.equal((await sendRequest(second, credentials.token, 'DELETE', '/v9/projects/hello'))?.status ?? 204, 204)
    assert.equal(paste(second.out()).name, 'hello')
    for (const secret of Object.values(credentials)) assert.equal(second.out().includes(secret), false)
    assert.equal(await second.kill('SIGINT'), 0)
  },
)

test('under `npm start` the greeting names commands as a clone has them', async (t) => {
  const running = await startService(t, await newHome(t, 'sqlite'), { npm_lifecycle_event: 'start' })
  assert.match(running.out(), /^To set your password, run: npx berth welcome$/m)
  assert.match(running.out(), /^To deploy .* run: npx berth link-cli --team team$/m)
})

test('an operator token from the settings is neither printed nor written', async (t) => {
  const home = await newHome(t, 'sqlite')
  const BERTH_OPERATOR_TOKEN = 'operator-token-from-the-settings'
  const running = await startService(t, home, { BERTH_OPERATOR_TOKEN })
  const asked = await sendRequest(running, BERTH_OPERATOR_TOKEN, 'GET', '/operator/v1/audit')
  assert.equal(asked?.status, 200)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.equal(running.out().includes(BERTH_OPERATOR_TOKEN), false)
  assert.equal(JSON.stringify(credentialsOf(home)).includes(BERTH_OPERATOR_TOKEN), false)
})

test('a second process on the same store, or on a taken port, ends with 1 and says why; the first goes on', async (t) => {
  const home = await newHome(t, 'sqlite')
  const first = await startService(t, home)
  const { token } = credentialsOf(home)
  const second = await runUntilExit(t, home)
  assert.equal(second.code, 1)
  assert.match(second.err, /^berth: another process \(pid \d+\) has .*berth\.db/)
  const linked = await newHome(t, 'sqlite')
  mkdirSync(linked.folder)
  symlinkSync(join(home.folder, 'berth.db'), join(linked.folder, 'berth.db'))
  const through = await runUntilExit(t, linked)
  assert.deepEqual([through.code, /another process \(pid \d+\) has/.test(through.err)], [1, true], through.err)
  const other = await newHome(t, 'sqlite')
  const third = await runUntilExit(t, other, { PORT: new URL(first.address).port })
  assert.equal(third.code, 1)
  const { port } = new URL(first.address)
  assert.equal(
    third.err,
    `berth: port ${port} on 127.0.0.1 is taken by another program: set PORT to a free one, or to 0\n`,
  )
  assert.equal((await sendRequest(first, token, 'POST', '/v10/projects', { name: 'on' }))?.status, 200)
  await first.kill('SIGKILL')
  const again = await startService(t, home)
  assert.equal((await sendRequest(again, token, 'GET', '/v9/projects/on'))?.status, 200)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`another data folder on a store that was started before is reported, and gets no dead credentials [${engine}]`, async (t) => {
    const home = await newHome(t, engine)
    const first = await startService(t, home)
    assert.equal(await first.kill('SIGTERM'), 0)
    const database = engine === 'sqlite' ? `sqlite:${join(home.folder, 'berth.db')}` : home.env.DATABASE_URL!
    const other = join(home.folder, 'other')
    const env = { BERTH_DATA: other, DATABASE_URL: database, BERTH_KEYS: join(home.folder, 'keys.json') }
    const second = await startService(t, home, env)
    assert.match(second.out(), /make a token with POST \/operator\/v1\/tokens/)
    const written = JSON.parse(readFileSync(join(other, 'credentials.json'), 'utf8'))
    assert.deepEqual(Object.keys(written), ['operatorToken'])
    assert.equal((await sendRequest(second, written.operatorToken, 'GET', '/operator/v1/audit'))?.status, 200)
    assert.equal(await second.kill('SIGTERM'), 0)
  })
}

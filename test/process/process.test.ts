/** Start, first words, stop and settings of the real program. docs/operations.md: Start and stop. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../src/config.ts'
import { within } from '../support/bound.ts'
import { ask, credentialsOf, ended, newHome, processOnBothEngines, start } from '../support/process.ts'
import { root } from '../support/root.ts'

/** Runs the `curl` line of the greeting as a person would: pasted into bash. */
function paste(out: string): { name: string } {
  const line = /^ {2}(curl .*)$/m.exec(out)?.[1]?.replace('curl ', 'curl -s ') ?? assert.fail(out)
  return JSON.parse(execFileSync('bash', ['-c', line], { cwd: root, encoding: 'utf8', timeout: 5000 }))
}

processOnBothEngines(
  'the first start says where it is and how to call it, and the printed curl works as printed',
  async (t, engine) => {
    const home = await newHome(t, engine, 'my data')
    const first = await start(t, home)
    assert.match(first.out(), /^berth listening on http:\/\/127\.0\.0\.1:\d+\n/)
    const credentials = credentialsOf(home)
    // No terminal, so perhaps a log collector: the file is named, and no token.
    for (const secret of [credentials.token, credentials.operatorToken])
      assert.equal(first.out().includes(secret), false)
    assert.match(first.out(), /^First start: .*credentials\.json'?$/m)
    assert.equal(paste(first.out()).name, 'hello')
    assert.equal(statSync(join(home.folder, 'credentials.json')).mode & 0o777, 0o600)
    assert.equal(statSync(home.folder).mode & 0o077, 0, 'nobody else reads the folder')
    for (const file of readdirSync(home.folder)) assert.equal(statSync(join(home.folder, file)).mode & 0o077, 0, file)
    assert.equal(await first.kill('SIGTERM'), 0)
    assert.equal(first.err(), '')

    const second = await start(t, home)
    assert.match(second.out(), /^berth listening on http:\/\/127\.0\.0\.1:\d+\n/)
    assert.deepEqual(credentialsOf(home), credentials)
    assert.equal((await ask(second, credentials.token, 'DELETE', '/v9/projects/hello'))?.status ?? 204, 204)
    assert.equal(paste(second.out()).name, 'hello')
    for (const secret of Object.values(credentials)) assert.equal(second.out().includes(secret), false)
    assert.equal(await second.kill('SIGINT'), 0)
  },
)

test('an operator token from the settings is neither printed nor written', async (t) => {
  const home = await newHome(t, 'sqlite')
  const BERTH_OPERATOR_TOKEN = 'operator-token-from-the-settings'
  const running = await start(t, home, { BERTH_OPERATOR_TOKEN })
  const asked = await ask(running, BERTH_OPERATOR_TOKEN, 'GET', '/operator/v1/audit')
  assert.equal(asked?.status, 200)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.equal(running.out().includes(BERTH_OPERATOR_TOKEN), false)
  assert.equal(JSON.stringify(credentialsOf(home)).includes(BERTH_OPERATOR_TOKEN), false)
})

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
    Object.entries(bad).map(async ([name, [value]]) => {
      const { code, out, err } = await ended(t, home, { [name]: value! })
      assert.equal(code, 78, `${name}=${value}: ${out}${err}`)
      assert.ok(err.startsWith(`berth: ${name} `) && err.split('\n').length === 2, err)
      assert.equal(err.includes('hunter2'), false)
    }),
  )
  assert.equal(existsSync(home.folder), false)
})

test('a second process on the same store, or on a taken port, ends with 1 and says why; the first goes on', async (t) => {
  const home = await newHome(t, 'sqlite')
  const first = await start(t, home)
  const { token } = credentialsOf(home)
  const second = await ended(t, home)
  assert.equal(second.code, 1)
  assert.match(second.err, /^berth: another process \(pid \d+\) has .*berth\.db/)
  const linked = await newHome(t, 'sqlite')
  mkdirSync(linked.folder)
  symlinkSync(join(home.folder, 'berth.db'), join(linked.folder, 'berth.db'))
  const through = await ended(t, linked)
  assert.deepEqual([through.code, /another process \(pid \d+\) has/.test(through.err)], [1, true], through.err)
  const other = await newHome(t, 'sqlite')
  const third = await ended(t, other, { PORT: new URL(first.address).port })
  assert.equal(third.code, 1)
  const { port } = new URL(first.address)
  assert.equal(
    third.err,
    `berth: port ${port} on 127.0.0.1 is taken by another program: set PORT to a free one, or to 0\n`,
  )
  assert.equal((await ask(first, token, 'POST', '/v10/projects', { name: 'on' }))?.status, 200)
  await first.kill('SIGKILL')
  const again = await start(t, home)
  assert.equal((await ask(again, token, 'GET', '/v9/projects/on'))?.status, 200)
})

processOnBothEngines(
  'SIGTERM answers what is in flight, lets idle connections go, and ends with 0 in 10 s (a bound on time)',
  async (t, engine) => {
    const home = await newHome(t, engine)
    const running = await start(t, home)
    const { token, operatorToken, userId } = credentialsOf(home)
    await ask(running, operatorToken, 'PATCH', `/operator/v1/accounts/${userId}`, { plan: 'enterprise' })
    await ask(running, token, 'POST', '/v10/projects', { name: 'web' })
    const { hostname, port } = new URL(running.address)
    // One connection that never says a word, one that stays open after an answer.
    const silent = connect(Number(port), hostname)
    silent.on('error', () => {})
    await ask(running, token, 'GET', '/v9/projects')
    const passwordProtection = { deploymentType: 'all', password: 'slow on purpose' }
    let answered = 0
    const flight = Array.from({ length: 40 }, async () => {
      const answer = await ask(running, token, 'PATCH', '/v9/projects/web', { passwordProtection })
      answered++
      return answer?.status
    })
    while (answered === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    const before = Date.now()
    const inFlight = 40 - answered
    const code = await running.kill('SIGTERM')
    assert.equal(code, 0)
    within(Date.now() - before, 10_000)
    assert.ok(inFlight > 5, `only ${inFlight} were in flight`)
    assert.deepEqual(await Promise.all(flight), Array(40).fill(200))
    silent.destroy()
  },
)

test('after the listener is closed, an open connection gets its first request answered', async (t) => {
  const home = await newHome(t, 'sqlite')
  const running = await start(t, home)
  const { hostname, port } = new URL(running.address)
  const { token } = credentialsOf(home)
  const inside = connect(Number(port), hostname)
  await once(inside, 'connect')
  // Answered after it came in, so it was let in.
  await ask(running, token, 'GET', '/v9/projects')
  const ended = running.kill('SIGTERM')
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const knocking = connect(Number(port), hostname, () => resolve(knocking.destroy().destroyed))
      knocking.on('error', () => resolve(false))
    })
  while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 2))
  inside.write(`GET /v9/projects HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`)
  let answer = ''
  for await (const chunk of inside) answer += chunk
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(answer, /\r\nconnection: close\r\n/i)
  assert.equal(await ended, 0)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`another data folder on a store that was started before is reported, and gets no dead credentials [${engine}]`, async (t) => {
    const home = await newHome(t, engine)
    const first = await start(t, home)
    assert.equal(await first.kill('SIGTERM'), 0)
    const database = engine === 'sqlite' ? `sqlite:${join(home.folder, 'berth.db')}` : home.env.DATABASE_URL!
    const other = join(home.folder, 'other')
    const env = { BERTH_DATA: other, DATABASE_URL: database, BERTH_KEYS: join(home.folder, 'keys.json') }
    const second = await start(t, home, env)
    assert.match(second.out(), /make a token with POST \/operator\/v1\/tokens/)
    const written = JSON.parse(readFileSync(join(other, 'credentials.json'), 'utf8'))
    assert.deepEqual(Object.keys(written), ['operatorToken'])
    assert.equal((await ask(second, written.operatorToken, 'GET', '/operator/v1/audit'))?.status, 200)
    assert.equal(await second.kill('SIGTERM'), 0)
  })
}

test('a PostgreSQL that is not there or refuses the login is named in the error', async (t) => {
  const home = await newHome(t, 'postgres')
  const wrong = home.env.DATABASE_URL!.replace('berth:berth@', 'berth:no@')
  for (const [DATABASE_URL, why] of [
    ['postgres://a:hunter2@127.0.0.1:1/x', /ECONNREFUSED/],
    [wrong, /password/],
    [home.env.DATABASE_URL!.replace(/[^/]*$/, 'nosuch'), /does not exist/],
  ] as const) {
    const { code, err } = await ended(t, home, { DATABASE_URL })
    assert.deepEqual([code, /version/.test(err), /hunter2/.test(err)], [1, false, false], err)
    assert.match(err, why)
  }
})

test('a folder that cannot be made and an address of another machine are bad settings', async (t) => {
  const home = await newHome(t, 'sqlite')
  for (const env of [{ BERTH_DATA: '/proc/x' }, { BERTH_DATA: '/dev/null/x' }, { HOST: '203.0.113.1' }]) {
    const { code, err } = await ended(t, home, env)
    assert.deepEqual([code, err.startsWith(`berth: ${Object.keys(env)[0]}`)], [78, true], err)
  }
})

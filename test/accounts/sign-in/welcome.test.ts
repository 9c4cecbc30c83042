/** The link of the first start, and that no client takes a service without it. docs/sign-in-and-consent.md: First password. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { SCREENS } from '../../../src/screens.ts'
import { openClient, PASSWORD, pathOf, seedPassword } from '../../support/clients/browser-client.ts'
import { berth, berthProcess } from '../../support/clients/command.ts'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { root } from '../../support/root.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const CHOSEN = { password: PASSWORD, again: PASSWORD }

function operatorOf(world: World) {
  return world.operator('GET', `/operator/v1/users/${world.credentials.userId}`)
}

onBothEngines('the link of the first start sets a password, signs in, and works once', async (world) => {
  const { welcome } = world.credentials
  const client = openClient(world)
  const shown = await client.get(welcome)
  assert.equal(shown.status, 200, shown.text)
  assert.match(shown.text, /Welcome to Berth/)
  assert.doesNotMatch(shown.text, /role="alert"/)
  assert.equal((await openClient(world).get(welcome)).status, 200, 'opening it uses nothing up')
  const short = await client.post(welcome, { password: 'short', again: 'short' })
  assert.equal(short.status, 422)
  assert.match(short.text, /role="alert"/)
  const forged = await openClient(world).post(welcome, CHOSEN)
  assert.equal(forged.status, 403, 'a form that no page of this browser gave')
  const set = await client.post(welcome, CHOSEN)
  assert.deepEqual([set.status, set.location], [303, '/console'], set.text)
  assert.equal((await client.get('/console')).location, '/console/t/team')
  for (const spent of [await client.get(welcome), await client.post(welcome, CHOSEN)]) {
    assert.equal(spent.status, 404)
    assert.match(spent.text, /berth user password-link/)
  }
  const again = openClient(world)
  await again.get('/sign-in')
  assert.equal((await again.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 303)
  assert.equal((await operatorOf(world)).body.operator, true, 'the first user is an operator')
})

onBothEngines('of several who open the link at once one sets the password, and is alone signed in', async (world) => {
  const { welcome } = world.credentials
  const clients = Array.from({ length: 6 }, () => openClient(world))
  for (const client of clients) await client.get(welcome)
  const answers = await Promise.all(clients.map((client) => client.post(welcome, CHOSEN)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 404, 404, 404, 404, 404])
  const inside = await Promise.all(clients.map((client) => client.get('/console')))
  assert.equal(inside.filter(({ location }) => location.startsWith('/console/t/')).length, 1)
})

onBothEngines(
  'a later password link takes the place of the first one, and does not sign in on its own',
  async (world) => {
    const { userId, welcome } = world.credentials
    const { body } = await world.operator('POST', `/operator/v1/users/${userId}/password-link`)
    const client = openClient(world)
    assert.equal((await client.get(welcome)).status, 404)
    assert.equal((await client.get(pathOf(body.url).replace('/set-password', '/welcome'))).status, 404)
    await seedPassword(world, userId)
    assert.match((await client.get('/console')).location, /^\/sign-in/)
  },
)

onBothEngines('no page before sign-in holds a secret, and the first visitor cannot take the service', async (world) => {
  const secrets = Object.values(world.credentials).filter((one) => !/^(usr|team)_/.test(one))
  assert.equal(secrets.length, 3)
  secrets.push(new URL(world.credentials.welcome, 'http://here').searchParams.get('link')!)
  const open = [
    '/',
    '/docs',
    '/openapi.json',
    '/favicon.ico',
    '/healthz',
    '/readyz',
    '/.well-known/oauth-authorization-server',
  ]
  const paths = [...open, ...SCREENS.map(({ path }) => path), ...ROUTES.map(({ path }) => path)]
  for (const path of new Set(paths)) {
    for (const accept of ['text/html', 'application/json']) {
      const { text, headers } = await openClient(world).get(path.replaceAll(/:\w+/g, 'admin'), { accept })
      const told = `${JSON.stringify(headers)}${text}`
      for (const secret of secrets) assert.ok(!told.includes(secret), path)
    }
  }
  const visitor = openClient(world)
  for (const guess of [
    '',
    '/welcome?link=',
    `/welcome?link=${'a'.repeat(43)}`,
    `/set-password?link=${'a'.repeat(43)}`,
  ]) {
    await visitor.get('/sign-in')
    const answer = await visitor.post(guess === '' ? '/sign-in' : guess, { name: 'admin', password: '', again: '' })
    assert.ok(answer.status === 403 || answer.status === 404, `${guess} ${answer.status}`)
  }
  const { count } = await world.deps.db.read
    .selectFrom('session')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  assert.equal(Number(count), 0)
})

processOnBothEngines('berth welcome prints the link until it was used', async (t, engine) => {
  const home = await newHome(t, engine)
  const running = await startService(t, home)
  const env = { ...home.env, PORT: new URL(running.address).port }
  const { welcome } = credentialsOf(home)
  assert.equal(running.out().includes(welcome), false, 'a log collector may read it')
  assert.match(running.out(), /^To set your password, run: berth welcome/m)
  const printed = await berthProcess(['welcome'], env)
  assert.deepEqual([printed.code, printed.out], [0, `${running.address}${welcome}\n`], printed.err)
  const page = await fetch(printed.out.trim())
  const cookie = page.headers
    .getSetCookie()
    .map((line) => line.split(';')[0]!)
    .join('; ')
  const form = /name="form" value="([^"]+)"/.exec(await page.text())![1]!
  const body = new URLSearchParams({ form, ...CHOSEN })
  const set = await fetch(printed.out.trim(), { method: 'POST', body, headers: { cookie }, redirect: 'manual' })
  assert.equal(set.status, 303)
  const spent = await berth(['welcome'], env)
  assert.deepEqual([spent.code, spent.out], [1, ''])
  assert.match(spent.err, /used or replaced.*berth user password-link admin/)
  const elsewhere = await berth(['welcome'], { ...env, BERTH_DATA: `${home.folder}-other` })
  assert.equal(elsewhere.code, 1)
})

test('on a terminal the start prints the link', { timeout: 300_000 }, async (t) => {
  if (!canRun('script', '--version'))
    return t.skip(skipReason('script', 'bsdutils', 'what a start prints on a terminal'))
  const home = await newHome(t, 'sqlite')
  const words = ['script', '--quiet', '--flush', '--command', `${process.execPath} ${root}/bin/berth.mjs`, '/dev/null']
  const running = await startService(t, home, {}, words)
  const { welcome } = credentialsOf(home)
  assert.ok(
    running
      .out()
      .replaceAll('\r', '')
      .includes(`Open this link once to set your password:\n  ${running.address}${welcome}\n`),
    running.out(),
  )
})

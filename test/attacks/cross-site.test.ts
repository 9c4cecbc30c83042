/** Another site against a user who is signed in: what a browser sends automatically opens no route, nothing is readable from elsewhere, and no header makes a form of a page. docs/threats.md. */
import assert from 'node:assert/strict'
import { ROUTES } from '../../src/routes.ts'
import { SCREENS } from '../../src/screens.ts'
import { openClient, openSignedInClient, PASSWORD } from '../support/clients/browser-client.ts'
import { eventually } from '../support/eventually.ts'
import { digest } from '../support/stores/digest.ts'
import { onBothEngines, type World } from '../support/world.ts'

const EVIL = 'https://evil.example'

type Asked = { method: string; url: string; headers?: Record<string, string> }

async function ask({ app }: World, { method, url, headers = {} }: Asked) {
  const answer = await app.inject({ method: method as 'GET', url, headers })
  const shared = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))
  return { status: answer.statusCode, shared, text: answer.payload }
}

/** Every address, with `x` for what it names. */
const ADDRESSES = [
  ...ROUTES.map(({ method, path }) => ({ method, url: path })),
  ...SCREENS.filter(({ name }) => name !== 'followPage').map(({ method, path }) => ({ method, url: path })),
].map(({ method, url }) => ({ method, url: url.replaceAll(/:\w+/g, 'x') }))

onBothEngines('no answer may be read by another site, and no preflight of one is granted', async (world) => {
  const client = await openSignedInClient(world)
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const authorization = `Bearer ${world.credentials.token}`
  for (const { method, url } of ADDRESSES) {
    const asked = { 'access-control-request-method': method, 'access-control-request-headers': 'authorization' }
    const preflight = await ask(world, { method: 'OPTIONS', url, headers: { origin: EVIL, ...asked } })
    assert.deepEqual([preflight.shared, preflight.status < 300], [[], false], `OPTIONS ${url}`)
    if (method !== 'GET') continue
    for (const origin of [EVIL, 'null']) {
      const seen = await ask(world, { method, url, headers: { origin, cookie, authorization } })
      assert.deepEqual(seen.shared, [], url)
    }
  }
})

onBothEngines('the cookies of a session open no route: a token says who calls', async (world) => {
  const client = await openSignedInClient(world)
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const before = await digest(world)
  for (const { method, path } of ROUTES) {
    const url = path.replaceAll(/:\w+/g, 'x')
    const [plain, byCookie] = [
      await ask(world, { method, url }),
      await ask(world, { method, url, headers: { cookie } }),
    ]
    const answerOf = ({ status, text }: typeof plain) =>
      `${status} ${text.replaceAll(/req_\w+|"requestId":"[^"]*"/g, '')}`
    assert.equal(answerOf(byCookie), answerOf(plain), `${method} ${url}`)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('no header and no parameter makes a form of a page that is opened', async (world) => {
  const client = await openSignedInClient(world)
  await client.get('/invitations')
  const before = await digest(world)
  for (const { path, method } of SCREENS) {
    if (method !== 'POST') continue
    const url = `${path.replaceAll(/:\w+/g, 'x')}?_method=POST&form=${client.token()}`
    const headers = { 'x-http-method-override': 'POST', 'x-http-method': 'POST', 'x-method-override': 'POST' }
    assert.notEqual((await client.get(url, headers)).status, 500, path)
  }
  assert.equal((await client.get('/invitations')).status, 200, 'still signed in')
  assert.equal(await digest(world), before)
})

/** TABLE headers with which a client claims to be elsewhere, and addresses of one network. */
const HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded', 'true-client-ip', 'cf-connecting-ip', 'x-client-ip']

onBothEngines(
  'guesses count as one address, whatever header they bring and from wherever in one network of IPv6 they come',
  async (world) => {
    const guess = async (remoteAddress: string, headers: Record<string, string> = {}) => {
      const inject = (asked: object) => world.app.inject({ ...asked, remoteAddress })
      const client = openClient({ ...world, app: { inject } } as unknown as World)
      await client.get('/sign-in')
      return (await client.post('/sign-in', { name: 'admin', password: `${PASSWORD}!` }, headers)).status
    }
    const byHeader: number[] = []
    for (const [at, name] of HEADERS.entries())
      byHeader.push(
        await guess('198.51.100.7', { [name]: name === 'forwarded' ? `for=192.0.2.${at}` : `192.0.2.${at}` }),
      )
    assert.deepEqual(byHeader, [403, 403, 403, 429, 429, 429])
    assert.equal(await guess('::ffff:198.51.100.7'), 429, 'the same in the spelling of IPv6')
    const network: number[] = []
    for (let at = 0; at < 6; at++) network.push(await guess(`2001:db8:1:2:${at}::${at}`))
    assert.deepEqual(network, [403, 403, 403, 429, 429, 429])
    assert.equal(await guess('2001:db8:1:3::1'), 403, 'another network')
    assert.equal(await guess('192.0.2.1'), 403, 'what a header named was not counted')
  },
  { BERTH_RATE_LIMITS: '{"sign-in-failures": {"total": 3, "seconds": 3600}}' },
)

onBothEngines('a link of another site reveals no value, and neither does a browser that prefetches', async (world) => {
  const revealing = SCREENS.filter(({ showsSecret }) => showsSecret)
  assert.deepEqual(revealing.map(({ name }) => name).sort(), [
    'compareEnvironments',
    'revealSharedVariable',
    'revealVariable',
  ])
  const { body: project } = await world.call('POST', '/v10/projects', { name: 'web' })
  const set = { key: 'TOKEN', value: 'worth-it', type: 'encrypted', target: ['production'] }
  const { id } = (await world.call('POST', `/v10/projects/${project.id}/env`, set)).body.created
  const client = await openSignedInClient(world)
  const reads = world.deps.db.read.selectFrom('audit').select('stamp').where('type', '=', 'getProjectEnv')
  const list = '/console/t/admin/projects/web/variables'
  const urls = [`${list}/${id}`, `${list}/compare?left=production&right=preview`]
  const own = { 'sec-fetch-site': 'same-origin' }
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { ...own, 'sec-purpose': 'prefetch' },
    { ...own, 'sec-purpose': 'prefetch;prerender' },
  ])
    for (const url of urls) {
      const led = await client.get(url, headers)
      assert.deepEqual([led.status, led.location, led.text.includes('worth-it')], [303, list, false], url)
    }
  for (const headers of [own, { 'sec-fetch-site': 'none' }, {}]) {
    for (const url of urls) assert.equal((await client.get(url, headers)).status, 200, url)
    assert.ok((await client.get(urls[0]!, headers)).text.includes('worth-it'))
  }
  // The line of a read comes a little later: one for each that was answered, none for those that were redirected.
  await eventually(async () => (await reads.execute()).length >= 6)
  assert.equal((await reads.execute()).length, 6)
})

onBothEngines('a link of another site reveals no value of a shared variable', async (world) => {
  const { created } = (await world.call('POST', '/v1/env', { evs: [{ key: 'TOKEN', value: 'worth-it' }] })).body
  const client = await openSignedInClient(world)
  const list = '/console/t/admin/variables'
  const url = `${list}/${created[0].id}`
  const led = await client.get(url, { 'sec-fetch-site': 'cross-site' })
  assert.deepEqual([led.status, led.location, led.text.includes('worth-it')], [303, list, false])
  assert.match((await client.get(url, { 'sec-fetch-site': 'same-origin' })).text, /worth-it/)
})

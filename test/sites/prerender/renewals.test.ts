/** `res.revalidate` of Next.js: a function renews a page of its own site, without a way to it by the network. docs/prerendering.md: Revalidation on demand. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { deployment, name, project } from '../snapshot/lines.ts'
import { type Offered, SITE } from '../visitors/control-plane.ts'

const [TOKEN, WRONG] = ['a-token-that-is-not-guessed-0001', 'a-token-that-is-not-guessed-0002']
const OTHER = 'other.example'

/** A page that says how often it was rendered, and whose POST asks as Next.js does (`next/dist/server/api-utils/node/api-resolver`). */
const PAGE = `let count = 0
export default async (req, res) => {
  if (req.method !== 'POST') {
    const number = ++count
    await globalThis[Symbol.for('@vercel/request-context')].get().cache.get('k')
    res.setHeader('cache-control', 's-maxage=600')
    return res.end('page ' + number + ' by ' + req.headers['x-forwarded-proto'])
  }
  const { paths = '/page', token = '${TOKEN}', host = req.headers.host, generated } = req.query
  const only = generated && { 'x-prerender-revalidate-if-generated': '1' }
  const headers = { 'x-prerender-revalidate': token, ...only }
  const renew = async (path) => {
    try {
      const answer = await fetch('https://' + host + path, { method: 'HEAD', headers })
      return [answer.status, answer.headers.get('x-vercel-cache')]
    } catch (error) { return [error.message] }
  }
  res.json(await Promise.all(paths.split(',').map(renew)))
}`

/** Says to the socket of its data cache what its query says, in the place of the launcher. */
const FORGE = `import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
const { cache } = JSON.parse(readFileSync('/proc/self/cmdline', 'utf8').split('\\0').filter(Boolean).at(-1))
export default (req, res) => {
  const head = Buffer.from(JSON.stringify({ op: 'renew', isSecure: false, headers: { 'x-prerender-revalidate': '${TOKEN}' }, ...req.query }))
  const prefix = Buffer.alloc(8)
  prefix.writeUInt32BE(head.length)
  const socket = connect(cache, () => socket.write(Buffer.concat([prefix, head])))
  socket.once('data', (answer) => res.json(JSON.parse(answer.subarray(8))))
}`

async function show(t: TestContext, offered: Offered = {}) {
  const config = { type: 'Prerender', expiration: 600, allowQuery: ['id'], bypassToken: TOKEN }
  const contents = {
    ...functionOf('page', PAGE),
    ...functionOf('api/forge', FORGE),
    'functions/page.prerender-config.json': JSON.stringify(config),
  }
  const shown = await showFunctions(t, contents, { offered })
  const see = async (path = '/page', host = SITE) => {
    const { text, headers } = await shown.site.visit(host, path)
    return [text, headers['x-vercel-cache']]
  }
  const post = async (query: Record<string, string> = {}) =>
    JSON.parse((await shown.visit(`/page?${new URLSearchParams(query)}`, {}, 'POST')).text)
  return { ...shown, see, post }
}

test('a function renews the page that visitors see, and is given its status and state', async (t) => {
  const { see, post } = await show(t)
  assert.deepEqual(
    [await see(), await see()],
    [
      ['page 1 by http', 'MISS'],
      ['page 1 by http', 'HIT'],
    ],
  )
  assert.deepEqual(await post(), [[200, 'REVALIDATED']])
  assert.deepEqual(await see(), ['page 2 by http', 'HIT'])
  assert.deepEqual(await post({ token: WRONG }), [[200, 'HIT']])
  assert.deepEqual(await post({ paths: '/page?id=new', generated: '1' }), [[404, 'MISS']])
  assert.equal((await post({ paths: '/nowhere' }))[0][0], 404)
  assert.deepEqual(await see(), ['page 2 by http', 'HIT'])
})

test('more pages at once than a process has connections are renewed, also where they need the data cache meanwhile', async (t) => {
  const { post } = await show(t)
  const paths = Array.from({ length: 20 }, (_, at) => `/page?id=${at}`)
  assert.deepEqual(
    await post({ paths: paths.join() }),
    paths.map(() => [200, 'REVALIDATED']),
  )
})

test('a page of a protected site is renewed by its own function', async (t) => {
  const { control, visit } = await show(t, {
    protection: { password: 'all' },
    check: (_, response) => response.writeHead(403, { 'x-edge-error': 'NOT_ALLOWED' }).end('closed'),
  })
  assert.equal((await visit('/page', { 'x-prerender-revalidate': TOKEN })).status, 403, 'the control')
  const path = `/api/forge?${new URLSearchParams({ host: SITE, path: '/page' })}`
  control.crons.push({ id: 'one', path, host: SITE, schedule: '* * * * *', secret: null, owner: 'u1' })
  await eventually(() => control.results.length === 1)
  assert.deepEqual([control.results[0]!.status, control.results[0]!.fault], [200, null])
  await eventually(() => control.lines.some((line) => line.path === '/page' && line.status === 200))
})

test('no function renews a page of another deployment, whatever it says to its socket', async (t) => {
  const { see, site, visit, control } = await show(t)
  const output = { ...control.output, accountId: 'team_2' }
  control.change([name(OTHER, 'd2', 'p2'), deployment('d2', { projectId: 'p2', output }), project('p2')])
  await eventually(async () => (await site.visit(OTHER, '/page')).status === 200)
  const before = [await see(), await see('/page', OTHER)]
  const forge = async (query: Record<string, string>) =>
    JSON.parse((await visit(`/api/forge?${new URLSearchParams(query)}`)).text)
  for (const query of [
    { host: OTHER, path: '/page' },
    { host: SITE, path: `http://${OTHER}/page` },
    { host: `${SITE}\r\nhost: ${OTHER}`, path: '/page' },
    { host: SITE, path: `/page HTTP/1.1\r\nhost: ${OTHER}\r\n\r\n` },
    { host: 'unknown.example', path: '/page' },
    { host: SITE },
  ])
    assert.deepEqual(await forge(query), { ok: false }, JSON.stringify(query))
  assert.deepEqual([(await see())[0], (await see('/page', OTHER))[0]], [before[0]![0], before[1]![0]])
  assert.deepEqual(await forge({ host: SITE, path: '/page' }), { status: 200, cached: 'REVALIDATED' }, 'the control')
  assert.deepEqual(await see(), ['page 2 by http', 'HIT'])
})

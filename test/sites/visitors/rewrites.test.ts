/** Rewrites of a site to another server. docs/deploying-sites.md: Other servers, Cookies. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { openEgress } from '../../../src/platform/adapters/egress.ts'
import { withoutSharedDomain } from '../../../src/sites/visitors/cookies.ts'
import { openForwarding, withQuery } from '../../../src/sites/visitors/forward.ts'
import { privately } from '../../../src/sites/visitors/shared-caches.ts'
import { readVisit } from '../../../src/sites/visitors/visit.ts'
import { eventually } from '../../support/eventually.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { SITE } from './control-plane.ts'
import { sendRaw, showSite } from './servers.ts'

/** Another server, until the test ends. Gives its origin. */
async function openOther(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const anywhere = () => true

/** A site whose path `/to/…` is proxied to that server. */
function showRewrite(t: TestContext, other: string, more: object[] = [], offered: object = {}) {
  const routes = [...more, { src: '/to/(.*)', dest: `${other}/$1` }, { src: '/with', dest: `${other}/w?own=1&b=rule` }]
  const settings = { BERTH_PLATFORM_SUFFIX: 'apps.example' }
  return showSite(t, { config: { routes }, contents: { 'static/index.html': 'x' }, ...offered }, settings, anywhere)
}

type Arrived = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

/** Answers with what arrived, as JSON. */
const echo: RequestListener = async (incoming, response) => {
  let body = ''
  for await (const piece of incoming.setEncoding('utf8')) body += piece
  const { method, url, headers } = incoming
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, url, headers, body }))
}

test('a request goes to the other server with its headers, query and body, and without what is about its connection', async (t) => {
  const { origin, visit } = await showRewrite(t, await openOther(t, echo))
  const got = JSON.parse((await visit(SITE, '/to/a%20b?x=1&x=2', { cookie: 'a=b', 'x-own': 'yes' })).text) as Arrived
  assert.deepEqual([got.method, got.url, got.body], ['GET', '/a%20b?x=1&x=2', ''])
  const { cookie, via } = got.headers
  assert.deepEqual([cookie, got.headers['x-own'], via], ['a=b', 'yes', '1.1 berth'])
  assert.deepEqual([got.headers['x-forwarded-host'], got.headers['x-forwarded-proto']], [SITE, 'http'])
  const ruled = JSON.parse((await visit(SITE, '/with?b=visitor&c=2')).text) as Arrived
  assert.equal(ruled.url, '/w?own=1&b=rule&c=2')
  const secret = JSON.parse((await visit(SITE, '/to/?a=1&x-vercel-protection-bypass=s3cret')).text) as Arrived
  assert.equal(secret.url, '/?a=1')
  const raw = await sendRaw(
    t,
    origin,
    `POST /to/form HTTP/1.1\r\nHost: ${SITE}\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: x\r\nX-Vercel-Protection-Bypass: s3cret\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  )
  assert.match(raw, /^HTTP\/1\.1 100 Continue/)
  const posted = JSON.parse(/\{.*\}/.exec(raw)![0]) as Arrived
  assert.deepEqual([posted.method, posted.body], ['POST', 'hello'])
  for (const name of ['x-hop', 'te', 'proxy-authorization', 'expect', 'x-vercel-protection-bypass'])
    assert.equal(posted.headers[name], undefined, name)
})

test('a visitor who holds many requests to another server keeps no other visitor of the site from it', async (t) => {
  let held = 0
  const other = await openOther(t, (incoming, response) => {
    if (incoming.url === '/hold') held++
    else response.end('here')
  })
  const routes = [{ src: '/to/(.*)', dest: `${other}/$1` }]
  const offered = { config: { routes }, contents: { 'static/index.html': 'x' } }
  const { visit } = await showSite(t, offered, { BERTH_TRUSTED_PROXIES: '127.0.0.1' }, anywhere)
  const from = (address: string, path: string) => visit(SITE, path, { 'x-forwarded-for': address })
  const holding = Array.from({ length: 100 }, () => from('203.0.113.1', '/to/hold').catch(() => {}))
  await eventually(() => held >= 32)
  const two = await Promise.all([from('203.0.113.2', '/to/'), from('203.0.113.3', '/to/')])
  assert.deepEqual(
    two.map(({ status, text }) => [status, text]),
    [
      [200, 'here'],
      [200, 'here'],
    ],
  )
  assert.ok(held < 64, `${held}`)
  t.after(() => Promise.all(holding))
})

test('the answer comes as it is, under the headers of the rules, and no cookie is for the sites of others', async (t) => {
  const other = await openOther(t, (_, response) => {
    response.writeHead(418, {
      'content-type': 'text/plain',
      'x-hop': '1',
      connection: 'x-hop',
      'x-from': 'other',
      'set-cookie': ['a=1; Domain=apps.example; Path=/', 'b=2; Domain=own.example', 'c=3; domain=.Example'],
    })
    response.end('short and stout')
  })
  const rules = [
    { src: '/to/.*', headers: { 'x-from': 'rule', 'set-cookie': 'd=4; Domain=apps.example' }, continue: true },
  ]
  const { visit } = await showRewrite(t, other, rules)
  const answer = await visit(SITE, '/to/')
  assert.deepEqual([answer.status, answer.text, answer.headers['x-from']], [418, 'short and stout', 'rule'])
  assert.equal(answer.headers['x-hop'], undefined)
  assert.deepEqual(answer.headers['set-cookie'], ['a=1; Path=/', 'b=2; Domain=own.example', 'c=3', 'd=4'])
  const onFile = await showSite(
    t,
    {
      config: { routes: [{ src: '/.*', headers: { 'set-cookie': 'e=5; Domain=apps.example' }, continue: true }] },
      contents: { 'static/index.html': 'x' },
    },
    { BERTH_PLATFORM_SUFFIX: 'apps.example' },
  )
  assert.deepEqual((await onFile.visit(SITE, '/')).headers['set-cookie'], ['e=5'])
})

test('a cookie keeps a domain that is only its own', () => {
  for (const [cookie, left] of [
    ['a=1', 'a=1'],
    ['a=1; Domain=apps.example; Secure', 'a=1; Secure'],
    ['a=1;DOMAIN = .APPS.example. ;Secure', 'a=1;Secure'],
    ['a=1; Domain=example', 'a=1'],
    ['a=1; Domain=web.apps.example', 'a=1; Domain=web.apps.example'],
    ['a=1; Domain=other.example; Domain=apps.example', 'a=1; Domain=other.example'],
    ['Domain=apps.example', 'Domain=apps.example'],
  ] as const)
    assert.equal(withoutSharedDomain(cookie, 'apps.example'), left)
})

test('pieces go both ways as they come, and a side that leaves ends the other', async (t) => {
  const ended: boolean[] = []
  const other = await openOther(t, async (incoming, response) => {
    response.on('close', () => ended.push(response.writableFinished))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    try {
      for await (const piece of incoming) response.write(`got ${piece}`)
      response.end()
    } catch {
      // The sender has left.
    }
  })
  const { origin } = await showRewrite(t, other)
  const { port } = new URL(origin)
  const options = { host: '127.0.0.1', port, path: '/to/echo', method: 'POST', headers: { host: SITE }, agent: false }
  const asked = request(options)
  asked.write('one')
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const pieces = answer.setEncoding('utf8')[Symbol.asyncIterator]()
  assert.equal((await pieces.next()).value, 'got one', 'before the request is whole')
  asked.end('two')
  assert.equal((await pieces.next()).value, 'got two')
  assert.equal((await pieces.next()).done, true)
  const leaving = request({ ...options, path: '/to/endless' })
  leaving.on('error', () => {})
  leaving.write('one')
  await once(leaving, 'response')
  leaving.destroy()
  await eventually(() => ended.length === 2)
  assert.deepEqual(ended, [true, false])
})

test('a body of unknown length that is too large is 413 like one that says its length, and no error of the other server', async (t) => {
  const max = 1024 ** 2
  const egress = openEgress(openDns(['127.0.0.1:1']), anywhere)
  t.after(() => egress.close())
  const forwarding = openForwarding(egress, pino({ enabled: false }), max)
  const reads: RequestListener = (incoming, response) => {
    incoming.on('error', () => {}).on('end', () => response.end())
    incoming.resume()
  }
  const url = `${await openOther(t, reads)}/`
  const rules = { headers: [], cookies: [], responseTransforms: [], rules: [], reusable: false, looked: new Map() }
  const origin = await openOther(t, async (raw, response) => {
    const visit = readVisit(raw, { trustedProxies: undefined })
    assert.ok('request' in visit)
    const decision = { kind: 'proxy' as const, ...rules, url, request: { path: '/', search: '' } }
    await forwarding.send({ account: 'a', decision, rules, visit, hidesPassword: false }, { raw, response })
  })
  const send = async (bytes: number, headers: Record<string, string | number>) => {
    const { host } = new URL(origin)
    const asked = request(origin, { method: 'POST', headers: { host, ...headers }, agent: false })
    asked.on('error', () => {})
    asked.end(Buffer.alloc(bytes, 'x'))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return [answer.statusCode, answer.headers['x-vercel-error']]
  }
  const tooLarge = [413, 'PAYLOAD_TOO_LARGE']
  assert.deepEqual(await send(max + 1, { 'content-length': max + 1 }), tooLarge)
  assert.deepEqual(await send(max + 1, { 'transfer-encoding': 'chunked' }), tooLarge)
  assert.deepEqual(await send(max, { 'transfer-encoding': 'chunked' }), [200, undefined])
})

test('an answer that breaks off is cut off, and none at all is 502', async (t) => {
  const other = await openOther(t, (incoming, response) => {
    if (incoming.url === '/none') return void incoming.socket.destroy()
    response.writeHead(200, { 'content-length': '100' })
    response.write('half')
    setTimeout(() => incoming.socket.destroy(), 50)
  })
  const { visit, origin } = await showRewrite(t, other)
  const none = await visit(SITE, '/to/none')
  assert.deepEqual([none.status, none.headers['x-vercel-error']], [502, 'ROUTER_EXTERNAL_TARGET_ERROR'])
  const half = await sendRaw(t, origin, `GET /to/half HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`)
  assert.match(half, /content-length: 100[\s\S]*half$/i)
})

test('addresses of this machine and its network are not reached, by number, by name or by a redirect of the other server', async (t) => {
  let arrived = 0
  const other = await openOther(t, (_, response) => {
    arrived++
    response.end('inside')
  })
  const { port } = new URL(other)
  const targets = [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `[::1]:${port}`,
    `0x7f000001:${port}`,
    '169.254.169.254',
    '10.0.0.1',
  ]
  const routes = targets.map((target, at) => ({ src: `/${at}`, dest: `http://${target}/` }))
  const { visit } = await showSite(t, { config: { routes } })
  for (const [at, target] of targets.entries()) assert.equal((await visit(SITE, `/${at}`)).status, 502, target)
  assert.equal(arrived, 0)
  const moving = await openOther(t, (_, response) => response.writeHead(302, { location: other }).end())
  const moved = await (await showRewrite(t, moving)).visit(SITE, '/to/')
  assert.deepEqual([moved.status, moved.headers.location, arrived], [302, other, 0], 'it is for the visitor to follow')
})

test('sites that proxy to each other are 508 after a few hops', async (t) => {
  let hops = 0
  let site = ''
  const other = await openOther(t, (incoming, response) => {
    hops++
    const headers = { ...incoming.headers, host: SITE }
    request(`${site}/to/`, { headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode!)
      answer.pipe(response)
    }).end()
  })
  const { origin, visit } = await showRewrite(t, other)
  site = origin
  assert.deepEqual([(await visit(SITE, '/to/')).status, hops], [508, 4])
})

test('the password of a protected site stays here, and the one of another server goes along', async (t) => {
  const authorization = 'Basic YW55Ym9keTpwYXNz'
  const other = await openOther(t, echo)
  const open = await showRewrite(t, other)
  const passed = JSON.parse((await open.visit(SITE, '/to/', { authorization })).text) as Arrived
  assert.equal(passed.headers.authorization, authorization)
  const closed = await showRewrite(t, other, [], {
    protection: { password: 'all' },
    check: (_: IncomingMessage, response: { writeHead(status: number): { end(): void } }) =>
      response.writeHead(200).end(),
  })
  const hidden = JSON.parse((await closed.visit(SITE, '/to/', { authorization })).text) as Arrived
  assert.equal(hidden.headers.authorization, undefined)
})

test('no rule and no other server receives the cookie with which a member came in', async (t) => {
  const noted = {
    src: '/to/(.*)',
    has: [{ type: 'cookie', key: 'berth_site' }],
    headers: { 'x-seen': '1' },
    continue: true,
  }
  const { origin, visit } = await showRewrite(t, await openOther(t, echo), [noted])
  const own = '__Host-berth_site=s; berth_site=s; __Host-berth_site_begun=s'
  for (const [cookie, arrived] of [
    [`a=b; ${own}; c=d`, 'a=b; c=d'],
    [own, undefined],
  ] as const) {
    const answer = await visit(SITE, '/to/', { cookie, 'x-sites-session': 's' })
    assert.deepEqual([JSON.parse(answer.text).headers.cookie, answer.headers['x-seen']], [arrived, undefined])
  }
  const twice = `GET /to/ HTTP/1.1\r\nHost: ${SITE}\r\nConnection: close\r\nCookie: a=b\r\nCookie: ${own}\r\n\r\n`
  assert.doesNotMatch(await sendRaw(t, origin, twice), /berth_site/)
})

test('the time for a query that is sent on grows with its parameters, and an address that is too long is 508 (a bound on time)', async (t) => {
  const queryOf = (count: number) => `?${Array.from({ length: count }, (_, at) => at.toString(36)).join('&')}`
  const queries = [queryOf(500), queryOf(5000)] as const
  const cost = (query: string, times: number) => {
    const began = process.cpuUsage()
    for (let time = 0; time < times; time++) withQuery('https://other.example/?own=1', query)
    const { user, system } = process.cpuUsage(began)
    return (user + system) / times
  }
  for (const query of queries) cost(query, 3)
  const rounds = Array.from({ length: 5 }, () => cost(queries[1], 4) / cost(queries[0], 40))
  const ratio = rounds.sort((a, b) => a - b)[2]!
  // Ten times the parameters.
  assertWithin(ratio, 40)
  assert.equal(withQuery('https://other.example/?own=1', '?a&b=1&b=2&own=2'), 'https://other.example/?own=1&a=&b=1&b=2')
  let arrived = 0
  const other = await openOther(t, (_, response) => response.end(String(++arrived)))
  const { visit } = await showRewrite(t, other, [{ src: '/long/(.*)', dest: `${other}/?a=${'$1'.repeat(100)}` }])
  const long = await visit(SITE, `/long/${'x'.repeat(400)}`)
  assert.deepEqual([long.status, long.headers['x-vercel-error'], arrived], [508, 'ROUTING_TOO_LARGE', 0])
  // What takes three characters each once it is encoded.
  assert.equal(withQuery(`https://other.example/?a=${'"'.repeat(15_000)}`, ''), undefined)
  assert.equal((await visit(SITE, `/long/${'x'.repeat(100)}`)).status, 200)
})

test('a visitor takes no header of ours away by naming it in Connection', async (t) => {
  const rules = [
    {
      src: '/to/.*',
      transforms: [{ type: 'request.headers', op: 'set', target: { key: 'x-ruled' }, args: '1' }],
      continue: true,
    },
  ]
  const { visit } = await showRewrite(t, await openOther(t, echo), rules)
  const names = ['x-forwarded-for', 'x-forwarded-host', 'X-Forwarded-Proto', 'x-real-ip', 'via', 'host', 'x-ruled']
  const sent = { connection: `close, ${names.join(' , ')}, x-hop`, 'x-hop': '1', 'x-real-ip': '203.0.113.9' }
  const { headers } = JSON.parse((await visit(SITE, '/to/', { ...sent, via: '1.1 before' })).text) as Arrived
  for (const name of names) assert.notEqual(headers[name.toLowerCase()], undefined, name)
  assert.deepEqual(
    [headers['x-hop'], headers['x-real-ip'], headers.via],
    [undefined, '127.0.0.1', '1.1 before, 1.1 berth'],
  )
})

test('a rule gives no status to an answer without a body, and one without a body has no length', async (t) => {
  const other = await openOther(t, (incoming, response) => {
    const status = Number(incoming.url!.slice(1))
    response.writeHead(status, status === 304 ? { 'content-length': '5', etag: '"1"' } : {})
    response.end(status === 200 ? 'whole' : undefined)
  })
  const { visit, origin } = await showRewrite(t, other, [
    { src: '/as-(\\d+)/(.*)', dest: `${other}/$2`, status: 200, has: [{ type: 'header', key: 'x-as', value: '200' }] },
    { src: '/as-(\\d+)/(.*)', dest: `${other}/$2`, status: 204 },
  ])
  const asked = async (status: number, of: number) => {
    const answer = await visit(SITE, `/as-${status}/${of}`, { 'x-as': String(status) })
    return [answer.status, answer.headers['content-length'], answer.text]
  }
  assert.deepEqual(await asked(200, 200), [200, undefined, 'whole'])
  for (const bare of [204, 304]) assert.deepEqual(await asked(200, bare), [bare, undefined, ''])
  assert.deepEqual(await asked(204, 200), [204, undefined, ''])
  const twice = `GET /as-200/304 HTTP/1.1\r\nHost: ${SITE}\r\nX-As: 200\r\n`
  const heard = await sendRaw(t, origin, `${twice}\r\n${twice}Connection: close\r\n\r\n`)
  assert.deepEqual(heard.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 304', 'HTTP/1.1 304'], 'nothing is waited for')
})

test('no answer of a protected site may be kept by a cache that visitors share', async (t) => {
  const other = await openOther(t, (incoming, response) => {
    if (incoming.url === '/said')
      response.setHeader('cache-control', 'Public, s-maxage=60, max-age=5').setHeader('cdn-cache-control', 'public')
    response.end('x')
  })
  const rules = [
    { src: '/ruled', headers: { 'cache-control': 'public, immutable' }, dest: '/index.html' },
    { src: '/away', status: 308, headers: { location: 'https://other.example/' } },
  ]
  const check = (_: IncomingMessage, response: { writeHead(status: number): { end(): void } }) =>
    response.writeHead(200).end()
  const closed = await showRewrite(t, other, rules, { protection: { password: 'all' }, check })
  for (const [path, said] of [
    ['/', 'private, max-age=0, must-revalidate'],
    ['/ruled', 'private, immutable'],
    ['/away', 'private, max-age=0, must-revalidate'],
    ['/to/', 'private'],
    ['/to/said', 'private, max-age=5'],
    ['/none', 'no-store'],
  ] as const) {
    const { headers } = await closed.visit(SITE, path)
    assert.deepEqual([headers['cache-control'], headers['cdn-cache-control']], [said, undefined], path)
  }
  const open = await showRewrite(t, other)
  assert.equal((await open.visit(SITE, '/')).headers['cache-control'], 'public, max-age=0, must-revalidate')
  assert.equal((await open.visit(SITE, '/to/said')).headers['cdn-cache-control'], 'public')
  for (const [value, left] of [
    ['', 'private'],
    ['private, max-age=1', 'private, max-age=1'],
    ['public , private', 'private'],
    ['private="set-cookie"', 'private, private="set-cookie"'],
    ['no-store,public', 'no-store'],
    ['no-cache="a, private, b", public', 'private, no-cache="a, private, b"'],
    ['x="a\\", no-store, b", s-maxage=5', 'private, x="a\\", no-store, b"'],
    ['x="open, no-store', 'private, x="open, no-store'],
    ['x-private, max-age=1', 'private, x-private, max-age=1'],
    ['no-store-yet', 'private, no-store-yet'],
  ] as const)
    assert.equal(privately(value), left)
})

/** Without a token, the listener for proxies responds only to its own host name: a page with a rebound DNS name reads nothing. docs/edge.md. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/deploy-world.ts'
import { callEdgeAt, openEdgeOf, openSite } from '../../support/worlds/edge-world.ts'

const ONE = 'one.apps.example.net'
const UPSTREAM = 'http://10.0.0.7:3000'
/** What a proxy asks for itself, and not for a visitor. */
const OWN = ['snapshot', 'snapshot?format=haproxy&map=hosts', `ask?domain=${ONE}`, 'ready', 'none']

onBothEngines(
  'without a token the edge returns nothing to a page of another host, although the request comes from this machine',
  async (world) => {
    const { ask, origin } = await openSite(world, UPSTREAM)
    const { port } = new URL(origin)
    const names = ['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', '[::1]']
    for (const path of OWN)
      for (const name of names)
        for (const host of [name, `${name}:${port}`, `${name}:1`])
          assert.notEqual((await ask(`/edge/v1/${path}`, { host })).status, 403, `${path} of ${host}`)
    const others = [
      'evil.example',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'evil.example.',
      '1270.0.0.1',
      '0.0.0.0',
      '[::]',
      ONE,
    ]
    for (const path of OWN)
      for (const name of others)
        for (const host of [name, `${name}:${port}`]) {
          const answer = await ask(`/edge/v1/${path}`, {
            host,
            origin: `http://${host}`,
            'x-forwarded-host': '127.0.0.1',
          })
          assert.equal(answer.status, 403, `${path} of ${host}`)
          assert.match(answer.text, /BERTH_EDGE_TOKEN.*127\.0\.0\.1/)
          assert.ok(!answer.text.includes(ONE) && !answer.text.includes('10.0.0.7'))
        }
  },
  SETTINGS,
)

onBothEngines(
  'a check works with the name of any site, but not from a page that is bound to the port of the edge',
  async (world) => {
    const { ask, origin } = await openSite(world, UPSTREAM)
    const { port } = new URL(origin)
    for (const path of ['check', 'check?flavor=nginx', 'check/some/path'])
      for (const host of [ONE, `${ONE}:8443`, `${ONE}:443`, `127.0.0.1:${port}`])
        assert.equal(
          (await ask(`/edge/v1/${path}`, { host, 'x-forwarded-host': ONE })).status,
          200,
          `${path} of ${host}`,
        )
    for (const path of ['check', 'check?flavor=nginx', 'check/some/path', 'page']) {
      const answer = await ask(`/edge/v1/${path}`, { host: `evil.example:${port}`, 'x-forwarded-host': ONE })
      assert.equal(answer.status, 403, path)
      assert.equal(answer.headers['x-edge-upstream'], undefined)
    }
  },
  SETTINGS,
)

onBothEngines('a probe without a Host header gets a response, because every browser sends one', async (world) => {
  const { port } = new URL((await openEdgeOf(world)).origin)
  const socket = connect(Number(port), '127.0.0.1')
  socket.end('GET /edge/v1/ready HTTP/1.0\r\n\r\n')
  assert.match(await text(socket), /^HTTP\/1\.1 200 /)
})

onBothEngines(
  'of HTTP/1.1, a request without a Host header is refused, and nothing behind it is answered',
  async (world) => {
    const { port } = new URL((await openEdgeOf(world)).origin)
    const socket = connect(Number(port), '127.0.0.1')
    socket.end('GET /edge/v1/ready HTTP/1.1\r\n\r\nGET /edge/v1/ready HTTP/1.0\r\n\r\n')
    const answers = (await text(socket)).match(/^HTTP\/1\.1 \d+/gm)
    assert.deepEqual(answers, ['HTTP/1.1 400'])
  },
)

onBothEngines(
  'with a token set, a proxy can use any host name of the edge',
  async (world) => {
    const { origin } = await openEdgeOf(world)
    const answer = await callEdgeAt(origin, '/edge/v1/snapshot?token=secret-of-the-proxies', {
      host: 'edge.internal:3001',
    })
    assert.equal(answer.status, 200)
  },
  { BERTH_EDGE_TOKEN: 'secret-of-the-proxies' },
)

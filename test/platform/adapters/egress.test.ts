/** No webhook reaches a private network: every form of an address, names that change, redirects. docs/spec/reliability.md 2f, T39. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { isPublicAddress } from '../../../src/platform/adapters/addresses.ts'
import type { Dns } from '../../../src/platform/adapters/dns.ts'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { openEgress, readStart } from '../../../src/platform/adapters/egress.ts'
import { READERS } from '../../../src/readers.ts'
import { seedProject } from '../../support/projects.ts'
import { type DnsServer, startDnsServer } from '../../support/servers/dns-server.ts'
import { deliver, deliveries, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { setWebhookUrl } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

/** A listener on every address of this machine that must not be connected to. */
async function canary(t: TestContext): Promise<{ port: number; connections(): number }> {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '::', resolve))
  t.after(() => server.close())
  return { port: (server.address() as { port: number }).port, connections: () => connections }
}

async function dnsServer(t: TestContext): Promise<DnsServer> {
  const server = await startDnsServer()
  t.after(() => server.close())
  return server
}

const never = new AbortController().signal
const PRIVATE = /private, local or reserved/

const LITERALS = [
  '127.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
  '[::]',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '１２７。０。０。１',
  'localhost',
  'sub.localhost',
  'LOCALHOST.',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '[fe80::1]',
  '[fc00::1]',
  '[64:ff9b::7f00:1]',
  '[::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::7f00:1]',
  '[4000::1]',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.2.1',
  '198.18.0.1',
]
const NAMES = {
  'loopback.test': { a: ['127.0.0.1'] },
  'loopback6.test': { aaaa: ['::1'] },
  'mapped.test': { aaaa: ['::ffff:127.0.0.1'] },
  'private.test': { a: ['10.1.2.3'] },
  'metadata.test': { a: ['169.254.169.254'] },
  'mixed.test': { a: ['93.184.215.14', '127.0.0.1'] },
  'mixed6.test': { a: ['93.184.215.14'], aaaa: ['::1'] },
  'nat64.test': { aaaa: ['64:ff9b::7f00:1'] },
}

test('no form of a private address, written out or by name, is connected to', async (t) => {
  const { port, connections } = await canary(t)
  const dns = await dnsServer(t)
  for (const [name, zone] of Object.entries(NAMES)) dns.zones.set(name, zone)
  const egress = openEgress(openDns([dns.address]), isPublicAddress)
  for (const host of [...LITERALS, ...Object.keys(NAMES)]) {
    for (const scheme of ['http', 'https']) {
      const posted = await egress.post(
        { url: `${scheme}://${host}:${port}/`, headers: {}, body: '{}', accountId: 'one' },
        never,
      )
      assert.ok('error' in posted, `${scheme}://${host}: ${JSON.stringify(posted)}`)
      assert.match(posted.error, PRIVATE, host)
    }
  }
  assert.equal(connections(), 0)
  await egress.close()
  // The control: allowed, the same listener is reached.
  const open = openEgress(openDns([dns.address]), () => true)
  for (const host of ['127.0.0.1', 'localhost', 'loopback.test', '2130706433'])
    assert.equal(
      (
        (await open.post({ url: `http://${host}:${port}/`, headers: {}, body: '', accountId: 'one' }, never)) as {
          statusCode: number
        }
      ).statusCode,
      200,
    )
  assert.equal(connections(), 4)
  await open.close()
})

test('a name that answers otherwise the second time is checked at every connection', async (t) => {
  const hidden = await canary(t)
  const hook = await receiver(t)
  const { port } = new URL(hook.url)
  let asked = 0
  // The receiver may be reached by one address of loopback only; the name says that one first, and then the other.
  const rebinding = {
    readA: async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']),
    readAaaa: async () => [],
  } as unknown as Dns
  const egress = openEgress(rebinding, (address) => address === '127.0.0.1')
  hook.answer((response) => response.writeHead(200, { connection: 'close' }).end())
  const post = (at: number | string) =>
    egress.post({ url: `http://rebind.test:${at}/`, headers: {}, body: '', accountId: 'one' }, never)
  assert.equal(((await post(port)) as { statusCode: number }).statusCode, 200)
  assert.match(((await post(hidden.port)) as { error: string }).error, PRIVATE)
  assert.match(((await post(port)) as { error: string }).error, PRIVATE)
  assert.deepEqual([hook.got.length, hidden.connections(), asked], [1, 0, 3])
  await egress.close()
})

test('the address that is really connected to is checked once more, before anything is sent', async (t) => {
  const hook = await receiver(t)
  let checks = 0
  const egress = openEgress(openDns(['127.0.0.1:1']), () => ++checks === 1)
  const posted = await egress.post({ url: hook.url, headers: {}, body: 'secret', accountId: 'one' }, never)
  assert.match((posted as { error: string }).error, PRIVATE)
  assert.deepEqual([hook.got.length, checks], [0, 2])
  await egress.close()
})

test('a URL that is not http, has credentials, or resolves to no address gives a sentence and throws nothing', async (t) => {
  const dns = await dnsServer(t)
  dns.zones.set('empty.test', { txt: [['x']] })
  dns.zones.set('silent.test', { rcode: 'SERVFAIL' })
  const egress = openEgress(openDns([dns.address]), isPublicAddress)
  const errorOf = async (url: string) =>
    ((await egress.post({ url, headers: {}, body: '', accountId: 'one' }, never)) as { error: string }).error
  for (const url of ['', 'x', 'ftp://a.test/', 'file:///etc/passwd', 'javascript:1', 'data:,x'])
    assert.match(await errorOf(url), /must begin with https/)
  for (const url of ['http://user@a.test/', 'http://user:pass@a.test/', 'http://:pass@a.test/'])
    assert.match(await errorOf(url), /user name or a password/)
  assert.match(await errorOf('http://empty.test/'), /no address/)
  assert.match(await errorOf('http://none.test/'), /no address/)
  assert.match(await errorOf('http://silent.test/'), /name servers did not answer/)
  await egress.close()
})

test('addresses of the public internet are public, and no others', () => {
  for (const address of ['1.1.1.1', '93.184.215.14', '2606:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8'])
    assert.equal(isPublicAddress(address), true, address)
  for (const address of ['', 'x', '2001:db8::1', 'ff02::1', '::', '0.1.2.3', '240.0.0.1', '192.88.99.1'])
    assert.equal(isPublicAddress(address), false, address)
})

onBothEngines(
  'a URL of a private address is refused when it is registered, and again when it is sent to',
  async (world, t) => {
    const { port, connections } = await canary(t)
    for (const host of LITERALS) {
      const url = `https://${host}:${port}/`
      for (const [path, body] of [
        ['/v1/webhooks', { url, events: ['project.created'] }],
        ['/v1/log-drains', { url, sources: ['edge'], deliveryFormat: 'json' }],
      ] as const) {
        const answer = await world.call.try('POST', path, body)
        assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], url)
        assert.match(answer.body.error.message, PRIVATE)
      }
    }
    const { id } = await register(world, 'https://hooks.example.com/')
    await setWebhookUrl(world, id, `http://127.0.0.1:${port}/`)
    await seedProject(world, 'web')
    await deliver(world)
    const [told] = await deliveries(world)
    assert.match(told.attempts[0].error, PRIVATE)
    assert.equal(connections(), 0)
  },
)

onBothEngines(
  'where private addresses are allowed they are reached, by name too',
  async (world, t) => {
    const hook = await receiver(t)
    await register(world, hook.url.replace('127.0.0.1', 'localhost'))
    await seedProject(world, 'web')
    await deliver(world)
    assert.equal(hook.got.length, 1)
    assert.match(hook.got[0]!.headers.host!, /^localhost:/)
  },
  LOCAL,
)

test('of an answer the first KiB is kept, and no more is read than its bytes and pieces allow', async () => {
  const { bytes, parts } = READERS['answer of a receiver']
  const read = async (sizes: Iterable<number>) => {
    let pieces = 0
    const body = (async function* () {
      for (const size of sizes) {
        pieces++
        yield Buffer.alloc(size, 'a')
      }
    })()
    return { text: await readStart(body), pieces: () => pieces }
  }
  const all = function* (size: number, count: number) {
    for (let n = 0; n < count; n++) yield size
  }
  const short = await read([1000, 23, 2, 100])
  assert.deepEqual([short.text, short.pieces()], ['a'.repeat(1024), 4])
  // One more than is allowed is seen, and nothing behind it.
  assert.equal((await read(all(bytes / 4, 10))).pieces(), 5)
  assert.equal((await read(all(1, parts + 10))).pieces(), parts + 1)
  assert.equal((await read(all(1, parts))).pieces(), parts)
})

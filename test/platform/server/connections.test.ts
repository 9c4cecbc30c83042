/** Connections of a listener: an address has a greatest number, and the longest idle one makes room. docs/limits.md: Connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, createServer as createPlainServer, type Server, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectSecurely } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readConfig } from '../../../src/config.ts'
import { boundConnections } from '../../../src/platform/server/connections.ts'
import { eventually } from '../../support/eventually.ts'
import { openCertificates } from '../../support/servers/certificates.ts'

type Rules = { max: number; perAddress: number; trusted?: string }

/** A server that answers at once, and `/slow` never. */
async function openServer(
  t: TestContext,
  { max, perAddress, trusted = '' }: Rules,
  pem?: { cert: string; key: string },
) {
  const answer: RequestListener = (request, response) => {
    if (request.url !== '/slow') response.end('here')
  }
  const files = pem && { cert: readFileSync(pem.cert), key: readFileSync(pem.key) }
  const server = files ? createSecureServer(files, answer) : createServer(answer)
  const { trustedProxies } = readConfig({ BERTH_TRUSTED_PROXIES: trusted }).connections
  boundConnections(server, { max: max, perAddress, trustedProxies })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

/** A connection from an address, which is held open; `path`: what it asks first. */
async function open(t: TestContext, server: Server, localAddress: string, path?: string): Promise<Socket> {
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.resume()
  if (path !== undefined) await ask(server, socket, path)
  // The server accepts them in this order.
  await sleep(20)
  return socket
}

/** Ends once the answer is there; of `/slow`, which has none, once the server has the request. */
async function ask(server: Server, socket: Socket, path: string): Promise<void> {
  const done = path === '/slow' ? once(server, 'request') : once(socket, 'data')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  const [heard] = await done
  if (path !== '/slow') assert.match(String(heard), /^HTTP\/1\.1 200 /)
}

const isOpen = (sockets: Socket[]) => sockets.map(({ destroyed }) => !destroyed)

test('over the number of its address, the connection that was idle for longest makes room', async (t) => {
  const server = await openServer(t, { max: 100, perAddress: 3 })
  const [first, second, third] = [
    await open(t, server, '127.0.0.2', '/'),
    await open(t, server, '127.0.0.2'),
    await open(t, server, '127.0.0.2', '/'),
  ]
  const other = await open(t, server, '127.0.0.3', '/')
  await ask(server, first, '/')
  const newcomer = await open(t, server, '127.0.0.2', '/')
  await eventually(() => second.destroyed)
  assert.deepEqual(isOpen([first, second, third, newcomer, other]), [true, false, true, true, true])
})

test('of IPv6 a /64 has the connections of one address, and of IPv4 an address however it is written', () => {
  const { trustedProxies } = readConfig({}).connections
  const server = createPlainServer()
  boundConnections(server, { max: 100, perAddress: 2, trustedProxies })
  // Not every machine has addresses of two IPv6 networks: the server is given connections that claim them.
  const come = (remoteAddress: string) => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
    server.emit('connection', socket)
    return socket
  }
  const six = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1', '2001:db8:0:1:0:1::3'].map(come)
  assert.deepEqual(isOpen(six), [false, true, true, true])
  const four = ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2', '::ffff:192.0.2.1'].map(come)
  assert.deepEqual(isOpen(four), [false, true, true, true])
})

test('a request that waits for its answer is not cut off: where all are busy, the newcomer is closed', async (t) => {
  const server = await openServer(t, { max: 100, perAddress: 2 })
  const busy = [await open(t, server, '127.0.0.2', '/slow'), await open(t, server, '127.0.0.2', '/slow')]
  const newcomer = await open(t, server, '127.0.0.2')
  await eventually(() => newcomer.destroyed)
  assert.deepEqual(isOpen(busy), [true, true])
})

test('a body that stalls is idle, and so is half a request', async (t) => {
  const server = await openServer(t, { max: 100, perAddress: 2 })
  const [body, head] = [await open(t, server, '127.0.0.2'), await open(t, server, '127.0.0.2')]
  body.write('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
  head.write('GET / HTTP/1.1\r\nHost')
  // No state shows that the server has read half a request.
  await sleep(50)
  await open(t, server, '127.0.0.2', '/')
  await open(t, server, '127.0.0.2', '/')
  await eventually(() => body.destroyed && head.destroyed)
})

test('when a listener is full, the address that has most makes room, and no other loses a connection', async (t) => {
  const server = await openServer(t, { max: 6, perAddress: 4 })
  const quiet = await open(t, server, '127.0.0.9', '/')
  const many: Socket[] = []
  for (let n = 0; n < 4; n++) many.push(await open(t, server, '127.0.0.2'))
  const another = await open(t, server, '127.0.0.3', '/')
  const newcomer = await open(t, server, '127.0.0.4', '/')
  await eventually(() => many[0]!.destroyed)
  assert.deepEqual(isOpen([quiet, another, newcomer, ...many]), [true, true, true, false, true, true, true])
})

test('when a listener is full of addresses with one connection each, the one that was idle for longest makes room', async (t) => {
  const server = await openServer(t, { max: 3, perAddress: 3 })
  const held: Socket[] = []
  for (let n = 2; n < 7; n++) held.push(await open(t, server, `127.0.0.${n}`, '/'))
  await eventually(() => held[0]!.destroyed && held[1]!.destroyed)
  assert.deepEqual(isOpen(held), [false, false, true, true, true])
})

test('a trusted proxy has as many connections as the listener, and loses the oldest when that is full', async (t) => {
  const server = await openServer(t, { max: 4, perAddress: 1, trusted: '10.0.0.0/8, 127.0.0.2' })
  const proxied: Socket[] = []
  for (let n = 0; n < 4; n++) proxied.push(await open(t, server, '127.0.0.2', '/'))
  assert.deepEqual(isOpen(proxied), [true, true, true, true])
  const first = await open(t, server, '127.0.0.3', '/')
  const second = await open(t, server, '127.0.0.3', '/')
  await eventually(() => first.destroyed && proxied[0]!.destroyed)
  assert.deepEqual(isOpen([second, ...proxied.slice(1)]), [true, true, true, true])
})

test('an answer that has left is not held by its connection, which stays open', async (t) => {
  const server = await openServer(t, { max: 10, perAddress: 10 })
  let answered: WeakRef<object> | undefined
  server.once('request', (_, response) => {
    answered = new WeakRef(response)
  })
  const socket = await open(t, server, '127.0.0.1', '/')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await eventually(() => {
    collect()
    return answered?.deref() === undefined
  })
  assert.deepEqual(isOpen([socket]), [true])
})

test('over https a connection that waits for its answer is known too', async (t) => {
  const { make } = openCertificates(t)
  const pem = make('one')
  const server = await openServer(t, { max: 100, perAddress: 2 }, pem)
  const { port } = server.address() as AddressInfo
  const secure = async (path: string) => {
    const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'secureConnect')
    await ask(server, socket.resume(), path)
    // The clock decides which one is idle for longest.
    await sleep(50)
    return socket
  }
  const [busy, idle] = [await secure('/slow'), await secure('/')]
  const newcomer = await secure('/')
  await eventually(() => idle.destroyed)
  assert.deepEqual(isOpen([busy, newcomer]), [true, true])
})

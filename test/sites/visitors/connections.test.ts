/** The visitors' listener has as many connections of one address as the API has. docs/limits.md: Connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { SITE } from './control-plane.ts'
import { showSite } from './servers.ts'

const LIMIT = 3
const PAGE = 'the whole page'

/** A connection from an address, which is kept alive once its first request is answered. */
async function open(t: TestContext, origin: string, localAddress: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1', localAddress }).on('error', () => {})
  t.after(() => socket.destroy())
  await ask(socket)
  return socket
}

async function ask(socket: Socket): Promise<void> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${SITE}\r\n\r\n`)
  let answer = ''
  while (!answer.endsWith(PAGE)) answer += String(await once(socket, 'data'))
  assert.match(answer, /^HTTP\/1\.1 200 /)
}

test('beyond the limit of its address, the connection that is idle for longest is closed, and none of others', async (t) => {
  const settings = { BERTH_CONNECTIONS_PER_ADDRESS: `${LIMIT}` }
  const { origin } = await showSite(t, { contents: { 'static/index.html': PAGE } }, settings)
  const other = await open(t, origin, '127.0.0.3')
  const held: Socket[] = []
  for (let at = 0; at < LIMIT; at++) held.push(await open(t, origin, '127.0.0.2'))
  await ask(held[0]!)
  const newcomer = await open(t, origin, '127.0.0.2')
  await eventually(() => held[1]!.destroyed)
  for (const socket of [other, held[0]!, held[2]!, newcomer]) await ask(socket)
})

/** What a function writes costs the sites server time, and its account waits for it. docs/functions.md: Pace. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { LauncherMessage } from '../../../src/launcher/protocol.ts'
import { readPaced } from '../../../src/platform/fairness/pace.ts'
import { acceptConnections } from '../../../src/sites/functions/connections.ts'
import { readLines } from '../../../src/sites/functions/log-lines.ts'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from './function-site.ts'

const FLOOD = `import { writeSync } from 'node:fs'
export function GET(request) {
  if (request.url.endsWith('lines')) writeSync(1, Buffer.alloc(50_000, 10))
  return new Response('done')
}`

test('lines of output are units, however short, and their account waits for what it owes', async (t) => {
  const units: [account: string, units: number][] = []
  const pace = {
    text: (account: string, more: number) => units.push([account, more]) && 1,
    pieces: () => 0,
  }
  const { visit, control } = await showFunctions(t, functionOf('api/it', FLOOD), { own: { pace } })
  const sum = () => units.reduce((all, [, more]) => all + more, 0)
  assert.equal((await visit('/api/it')).text, 'done')
  assert.ok(sum() < 1000, `${sum()} units without output`)
  assert.equal((await visit('/api/it?lines')).text, 'done')
  await eventually(() => sum() >= 50_000)
  assert.deepEqual(new Set(units.map(([account]) => account)), new Set([control.output.accountId]))
})

test('output is not read while its account owes', async () => {
  const output = new PassThrough()
  const seen: string[] = []
  const lines = readLines(({ text }) => seen.push(text))
  const owed: number[] = []
  readPaced(output, lines.write, (units) => {
    owed.push(units)
    return owed.length === 1 ? 20 : 0
  })
  output.write('a\nb\n')
  await eventually(() => owed.length === 1)
  assert.equal(output.isPaused(), true)
  output.write('c\n')
  await eventually(() => seen.join() === 'a,b,c')
  assert.deepEqual(owed.map(Math.floor), [2, 1])
})

/** The launcher's side: its first connection, and one that answers a request with these bytes. */
async function dial(t: TestContext, owe: { text(units: number): number; pieces(units: number): number }) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const messages: LauncherMessage[] = []
  const connections = acceptConnections(server, (message) => void messages.push(message), owe)
  t.after(() => connections.close())
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    t.after(() => socket.destroy())
    await once(
      socket.on('error', () => {}),
      'connect',
    )
    return socket
  }
  return { connections, messages, channel: await open(), open }
}

test('messages of a launcher are units too', async (t) => {
  let units = 0
  const text = (more: number) => {
    units += more
    return 1
  }
  const { channel, messages } = await dial(t, { text, pieces: () => 0 })
  channel.write('{"kind":"pending","count":1}\n'.repeat(1000))
  await eventually(() => messages.length === 1000)
  assert.ok(units >= 1000, `${units} units`)
})

test('pieces of an answer are units, and it goes on with the next one when its account has waited', async (t) => {
  let isOwing = false
  let pieces = 0
  const owe = () => {
    assert.equal(isOwing, false, 'nothing comes meanwhile')
    isOwing = true
    // All pieces of one read come before this, unless the answer waits.
    setImmediate(() => (isOwing = false))
    pieces++
    return 5
  }
  const { connections, channel, open } = await dial(t, { text: () => 0, pieces: owe })
  channel.once('data', async () => {
    const socket = await open()
    await once(socket, 'data')
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(50)}0\r\n\r\n`)
  })
  const { body } = await connections.pool.request({ origin: 'http://function', path: '/', method: 'GET' })
  assert.equal(await body.text(), 'x'.repeat(50))
  assert.equal(pieces, 50)
})

/** What a function writes to the socket of the data cache in the place of its launcher. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import {
  createFrameReader,
  type Frame,
  frameBytes,
  MAX_HEAD_BYTES,
  MAX_VALUE_BYTES,
} from '../../../src/launcher/frames.ts'
import { createPace } from '../../../src/platform/fairness/pace.ts'
import { addPurge } from '../../../src/platform/verdict/cache-purges.ts'
import { openDataCache } from '../../../src/sites/data-cache/data-cache.ts'
import { createProjectStates } from '../../../src/sites/data-cache/project-states.ts'
import { eventually } from '../../support/eventually.ts'
import { newFolder, openCache } from '../content/caches.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { project } from '../snapshot/lines.ts'
import { OWNER } from './serving.ts'

const KEY = 'a'.repeat(64)

async function dial(t: TestContext) {
  const shown = await showFunctions(t, functionOf('api/one', 'export const GET = () => new Response("one")'))
  assert.equal((await shown.visit('/api/one')).text, 'one')
  const folder = join(shown.folder, 's')
  const path = join(folder, readdirSync(folder).find((one) => one.length === 17) ?? assert.fail('no socket'))
  const open = async () => {
    const socket = connect(path)
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { ...shown, open }
}

/** Sends pieces, and gives the answer; `closed` where the connection ends instead. */
function ask(socket: Socket, pieces: Buffer[]): Promise<Frame | 'closed'> {
  return new Promise((resolve) => {
    const reader = createFrameReader()
    socket.on('error', () => {})
    socket.on('data', (piece: Buffer) => {
      const answer = reader.push(piece)
      if (typeof answer === 'object') resolve(answer)
    })
    socket.once('close', () => resolve('closed'))
    socket.write(Buffer.concat(pieces))
  })
}

function prefix(head: number, body: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32BE(head, 0)
  bytes.writeUInt32BE(body, 4)
  return bytes
}

/** TABLE what a function writes, for which its connection ends. */
const BAD: readonly [what: string, pieces: Buffer[]][] = [
  ['a head that is too large', [prefix(MAX_HEAD_BYTES + 1, 0)]],
  ['a value that is too large', [prefix(2, MAX_VALUE_BYTES + 1)]],
  ['no JSON', [prefix(2, 0), Buffer.from('{[')]],
  ['a list', [prefix(2, 0), Buffer.from('[]')]],
  ['two requests at once', [...frameBytes({ op: 'number' }), ...frameBytes({ op: 'number' })]],
  ['no operation', frameBytes({ op: 'list' })],
  ['the key of another', frameBytes({ op: 'get', key: `../p2 production ${KEY}`, tags: [] })],
  ['no key', frameBytes({ op: 'set', tags: [] })],
]

test('what is not a request of the protocol ends its connection, and the next one is answered', async (t) => {
  const { open, visit } = await dial(t)
  for (const [what, pieces] of BAD) assert.equal(await ask(await open(), pieces), 'closed', what)
  const found = await ask(await open(), frameBytes({ op: 'get', key: KEY, tags: 'none' }))
  assert.deepEqual(typeof found === 'object' && found.head, { found: false, number: 0 })
  assert.equal((await visit('/api/one')).text, 'one')
})

test('a process has 16 connections, and bytes that never come whole hold no more than its account may have', async (t) => {
  const { open } = await dial(t)
  const openMany = async (count: number, bytes: Buffer) => {
    const sockets = await Promise.all(Array.from({ length: count }, open))
    let closed = 0
    for (const socket of sockets) {
      socket.on('error', () => {}).once('close', () => closed++)
      socket.resume().write(bytes)
    }
    return { sockets, closed: () => closed }
  }
  const many = await openMany(40, Buffer.alloc(0))
  await eventually(async () => many.closed() === 24)
  const [left] = many.sockets.filter((socket) => !socket.destroyed)
  assert.notEqual(await ask(left!, frameBytes({ op: 'number' })), 'closed')
  for (const socket of many.sockets) socket.destroy()
  // Of 16 MiB, seven of these have room, before their bytes come.
  const large = await openMany(12, prefix(2, MAX_VALUE_BYTES))
  await eventually(async () => large.closed() === 5)
  const [waiting] = large.sockets.filter((socket) => !socket.destroyed)
  const rest = [Buffer.from('{}'), Buffer.alloc(MAX_VALUE_BYTES)]
  assert.equal(await ask(waiting!, rest), 'closed', 'it is read whole, and has no operation')
  await eventually(async () => large.closed() === 6)
})

test('a value that was fetched before a purge does not come back, whatever number the function says', async (t) => {
  const { open, control, visit } = await dial(t)
  const socket = await open()
  const use = async (head: object, body?: Buffer) => {
    const answer = await ask(socket, frameBytes(head, body))
    socket.removeAllListeners('data').removeAllListeners('close')
    return typeof answer === 'object' ? answer.head : assert.fail('closed')
  }
  const set = (number: unknown) => use({ op: 'set', key: KEY, tags: ['a'], number }, Buffer.from('"old"'))
  const { number } = await use({ op: 'get', key: KEY, tags: ['a'] })
  assert.equal(number, 0)
  assert.deepEqual(await use({ op: 'purge', kind: 'gone', tags: ['a'] }), { ok: true })
  await visit('/api/one')
  assert.deepEqual(await set(number), { ok: true })
  assert.equal((await use({ op: 'get', key: KEY, tags: [] })).found, false)
  assert.deepEqual(await set(1e9), { ok: true })
  assert.equal((await use({ op: 'get', key: KEY, tags: [] })).found, true)
  assert.deepEqual(await use({ op: 'purge', kind: 'gone', tags: ['a'] }), { ok: true })
  assert.equal((await use({ op: 'get', key: KEY, tags: [] })).found, false, 'a number of the future is none')
  assert.equal(control.purges.length, 2)
})

test('an account that asks too much waits', () => {
  let now = 0
  const pace = createPace(100, () => now)
  assert.equal(pace('a', 100), 0)
  assert.equal(pace('a', 50), 500)
  assert.equal(pace('b', 1), 0)
  now += 1000
  assert.equal(pace('a', 50), 0)
})

test('tags that are compared with purges count in the pace of the account', async (t) => {
  const folder = newFolder(t)
  const units: number[] = []
  const pace = (_: string, more: number) => {
    // Less is one of the pieces in which a request comes.
    if (more >= 1) units.push(more)
    return 0
  }
  const [cache, log] = [await openCache(t, {}), pino({ level: 'silent' })]
  const data = await openDataCache({ cache, folder, origin: 'http://127.0.0.1:1', token: 'x', log, pace })
  t.after(() => data.close())
  data.note('p1', { purges: addPurge(undefined, 'gone', ['other']) })
  const server = createServer((socket) => data.serve(socket, OWNER)).listen(join(folder, 's'))
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = connect(join(folder, 's'))
  t.after(() => socket.destroy())
  const use = async (head: object) => {
    const answer = await ask(socket, frameBytes(head))
    socket.removeAllListeners('data').removeAllListeners('close')
    return typeof answer === 'object' ? answer.head : assert.fail('closed')
  }
  const tags = (count: number) => Array.from({ length: count }, (_, at) => `tag ${at}`)
  assert.deepEqual(await use({ op: 'set', key: KEY, tags: tags(128), number: 0 }), { ok: true })
  assert.equal((await use({ op: 'get', key: KEY, tags: tags(200) })).found, true)
  assert.equal((await use({ op: 'purge', kind: 'gone', tags: tags(128) })).ok, false)
  const [set, get, purge] = units.map(Math.floor)
  assert.deepEqual([set, get, purge], [1, 1 + Math.floor((128 + 200) / 16), 1 + 128 / 16])
})

test('the answer to a purge counts until the facts have it, and facts of a restored database count again', () => {
  let now = 0
  const states = createProjectStates(() => now)
  const first = addPurge(undefined, 'gone', ['a'])
  const second = addPurge(first, 'gone', ['b'], 'preview')
  assert.equal(states.note('p1', { purges: first }), first)
  states.learn('p1', second)
  states.learn('p1', first)
  assert.equal(states.note('p1', { purges: first }), second)
  assert.equal(states.get('p1')?.purges, second)
  now += 61_000
  assert.equal(states.note('p1', { purges: first }), first)
  states.take([project('p1', { purges: second, settings: { dataCacheDisabled: true } }), project('p2')])
  assert.deepEqual(states.get('p1'), { purges: second, isDisabled: true })
  assert.equal(states.get('p2'), undefined)
})

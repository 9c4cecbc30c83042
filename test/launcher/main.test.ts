/** The program that runs one function, spoken to as the sites server does. src/launcher/main.ts; docs/functions.md: Launcher. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { LauncherMessage, LauncherOrder } from '../../src/launcher/protocol.ts'
import { root } from '../support/root.ts'

const MAIN = join(root, 'src/launcher/main.ts')

/** Launches a module of a function. `first`: the first message. `ask`: sends a request on a connection of its own, and gives the answer. */
async function launch(t: TestContext, module: string) {
  const folder = mkdtempSync(join(tmpdir(), 'b-'))
  writeFileSync(join(folder, 'index.mjs'), module)
  const socket = join(folder, 's')
  const connections: ((connection: Socket) => void)[] = []
  const server = createServer((connection) => connections.shift()!(connection)).listen(socket)
  const next = () => new Promise<Socket>((resolve) => void connections.push(resolve))
  await once(server, 'listening')
  const flags = { helpers: true, sourceMaps: false, webApi: false, edge: false, middleware: false }
  const options = { socket, cache: join(folder, 'none'), folder, entrypoint: 'index.mjs', ...flags }
  const dialed = next()
  const child = spawn(process.execPath, [MAIN, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => {
    child.kill('SIGKILL')
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>
  const log = text(child.stderr)
  const channel = await dialed
  channel.on('error', () => {})
  const messages = createInterface(channel)[Symbol.asyncIterator]()
  const message = async () => JSON.parse((await messages.next()).value!) as LauncherMessage
  const order = (kind: LauncherOrder['kind']) => channel.write(`${JSON.stringify({ kind })}\n`)
  const ask = async (head = 'GET / HTTP/1.1', body = '') => {
    const opening = next()
    order('dial')
    const connection = await opening
    const lines = [head, 'host: a', 'connection: close', 'content-type: application/json']
    connection.write([...lines, `content-length: ${body.length}`, '', body].join('\r\n'))
    return text(connection).catch(() => 'cut off')
  }
  const rest = () => Array.fromAsync(messages)
  return { first: await message(), message, rest, order, ask, channel, ended, log, folder }
}

test('a function that is loaded is ready, answers on each connection, and ends with its channel', async (t) => {
  const { first, ask, channel, ended, folder } = await launch(
    t,
    `let count = 0\nexport default (req, res) => res.send(++count + ' ' + process.argv.slice(1).join())`,
  )
  assert.deepEqual(first, { kind: 'ready' })
  for (const count of [1, 2]) {
    const answer = await ask()
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    assert.ok(answer.includes(`${count} ${folder}/index.mjs`), answer)
  }
  channel.destroy()
  assert.deepEqual(await ended, [0, null])
})

test('a function that cannot be loaded says why, and waits until its channel ends', async (t) => {
  const { first, rest, channel, ended, log } = await launch(t, `throw new Error('own words')`)
  assert.deepEqual(first, { kind: 'fault', fault: 'LOAD_FAILED', message: 'The function could not be loaded.' })
  channel.end()
  assert.deepEqual(await rest(), [], 'it is not ready')
  assert.deepEqual(await ended, [0, null])
  assert.match(await log, /own words/)
})

test('a handler that throws is answered by 500 without its headers, a wrong body by 400, and one that has begun is cut off', async (t) => {
  const { ask, channel, ended, log } = await launch(
    t,
    `export default async (req, res) => {
      res.setHeader('x-own', '1')
      if (req.method === 'POST') return res.send(req.body)
      if (req.url === '/begun') await new Promise((go) => res.write('begun', go))
      throw new Error('own words of ' + req.url)
    }`,
  )
  const thrown = await ask('GET /thrown HTTP/1.1')
  assert.match(thrown, /^HTTP\/1\.1 500 [\s\S]*\r\nx-berth-function-fault: HANDLER_FAILED\r\n/)
  assert.doesNotMatch(thrown, /x-own|own words/)
  const wrong = await ask('POST / HTTP/1.1', '{')
  assert.match(wrong, /^HTTP\/1\.1 400 /)
  assert.doesNotMatch(wrong, /x-own/)
  const begun = await ask('GET /begun HTTP/1.1')
  assert.match(begun, /^HTTP\/1\.1 200 [\s\S]*begun|^cut off$/)
  assert.doesNotMatch(begun, /\r\n0\r\n/, 'its end is missing')
  channel.destroy()
  assert.deepEqual(await ended, [0, null])
  const said = await log
  assert.match(said, /own words of \/thrown[\s\S]*own words of \/begun/)
  assert.doesNotMatch(said, /JSON/, 'a wrong body is of the visitor')
})

test('an error that nothing catches answers its request, and ends the process', async (t) => {
  const { ask, ended, log } = await launch(
    t,
    `export default () => { setTimeout(() => { throw new Error('own words') }) }`,
  )
  assert.match(await ask(), /^HTTP\/1\.1 500 /)
  assert.deepEqual(await ended, [1, null])
  assert.match(await log, /own words/)
})

test('a function that drains ends once its promises have settled', async (t) => {
  const { message, order, ask, ended } = await launch(
    t,
    `let go\nexport const GET = (request, { waitUntil }) => { waitUntil(new Promise((done) => { go = done })); return new Response('now') }
export const POST = () => { go(); return new Response('went') }`,
  )
  assert.match(await ask(), /now/)
  assert.deepEqual(await message(), { kind: 'pending', count: 1 })
  order('drain')
  assert.match(await ask('POST / HTTP/1.1'), /went/, 'it still answers')
  assert.deepEqual(await message(), { kind: 'pending', count: 0 })
  assert.deepEqual(await ended, [0, null])
})

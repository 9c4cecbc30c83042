/** After a reboot, Berth may start before its database and before its address is there: it waits, and says so. docs/operations.md: Start order. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { BadSetting } from '../../src/config.ts'
import { listenToClients } from '../../src/platform/server/listen.ts'
import { saidWhile, untilThere } from '../../src/start-wait.ts'
import { eventually } from '../support/eventually.ts'
import { launch, newHome, runUntilExit } from '../support/process.ts'
import { freePort } from '../support/servers/free-port.ts'

/** What a server that is starting says to each who connects: 57P03. */
const STARTING = errorMessage({ S: 'FATAL', C: '57P03', M: 'das Datenbanksystem startet' })

function errorMessage(fields: Record<string, string>): Buffer {
  const body = Buffer.from(
    `${Object.entries(fields)
      .map(([key, text]) => `${key}${text}\0`)
      .join('')}\0`,
  )
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** A port before a real PostgreSQL, on which no process listens yet. Then the server is starting, and then it takes connections. */
async function openLater(t: TestContext, target: URL) {
  const port = await freePort()
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let isReady = false
  let turnedAway = 0
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  const end = () => {
    for (const socket of sockets) socket.destroy()
    server?.close()
  }
  t.after(end)
  return {
    url: url.href,
    turnedAway: () => turnedAway,
    async listen() {
      server = createServer((client) => {
        sockets.add(client)
        client.on('error', () => {})
        if (!isReady) {
          client.once('data', () => {
            turnedAway++
            client.end(STARTING)
          })
          return
        }
        const upstream = connect(Number(target.port), target.hostname)
        sockets.add(upstream)
        upstream.on('error', () => {})
        client.pipe(upstream).pipe(client)
        client.on('close', () => upstream.destroy())
      })
      await once(server.listen(port, '127.0.0.1'), 'listening')
    },
    ready() {
      isReady = true
    },
  }
}

test('a start waits for a PostgreSQL on whose port no process listens yet, and that is starting then, and says so [postgres]', {
  timeout: 600_000,
}, async (t) => {
  const home = await newHome(t, 'postgres')
  const database = await openLater(t, new URL(home.env.DATABASE_URL!))
  const running = launch(t, home, { DATABASE_URL: database.url })
  const said = () => running.out() + running.err()
  await eventually(
    () => /waiting for the database of DATABASE_URL: a start waits up to 300 s/.test(running.out()),
    said,
  )
  assert.match(running.out(), /ECONNREFUSED/)
  await database.listen()
  await eventually(() => database.turnedAway() > 1, said)
  assert.equal(running.child.exitCode, null, said())
  database.ready()
  await eventually(() => /berth listening on /.test(running.out()), said)
  assert.match(running.out(), /the database of DATABASE_URL is there now; the start goes on/)
  assert.equal(await running.kill('SIGTERM'), 0)
})

test('a start that waits ends at SIGTERM with 0, and what no waiting changes ends it at once [postgres]', {
  timeout: 600_000,
}, async (t) => {
  const home = await newHome(t, 'postgres')
  const waiting = launch(t, home, { DATABASE_URL: 'postgres://berth:berth@127.0.0.1:1/berth' })
  await eventually(() => waiting.out().includes('waiting for the database'), waiting.out)
  assert.equal(await waiting.kill('SIGTERM'), 0)
  const refused = await runUntilExit(t, home, { DATABASE_URL: home.env.DATABASE_URL!.replace(/[^/]*$/, 'nosuch') })
  assert.deepEqual([refused.code, refused.out.includes('waiting')], [1, false], refused.out)
})

const log = pino({ level: 'silent' })

test('the table of what may come later, and of what never does', async () => {
  const of = (code: string, more: object = {}) => Object.assign(new Error('x'), { code, ...more })
  const later: Error[] = [
    ...['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].map((code) => of(code)),
    ...['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', '57P01', '57P03', '53300', '08006', '25006'].map((code) => of(code)),
    of('ENOENT', { syscall: 'connect' }),
    new Error('timeout exceeded when trying to connect'),
    new Error('Connection terminated unexpectedly'),
    new AggregateError([of('ECONNREFUSED'), of('ECONNREFUSED')]),
    new Error('the database cannot be used', { cause: new Error('cannot connect', { cause: of('57P03') }) }),
    new BadSetting('HOST and PORT: cannot listen', { cause: of('EADDRNOTAVAIL') }),
  ]
  for (const error of later) {
    let tries = 0
    const attempt = async () => {
      if (tries++ === 0) throw error
      return 'there'
    }
    assert.equal(await untilThere('it', { seconds: 300, log }, attempt), 'there', String(error))
    const atOnce = () => Promise.reject(error)
    await assert.rejects(untilThere('it', { seconds: 0, log }, atOnce), (thrown) => thrown === error)
  }
  for (const error of [
    ...['28P01', '28000', '3D000', '42501', 'EACCES', 'EADDRINUSE', 'SELF_SIGNED_CERT_IN_CHAIN'].map((code) =>
      of(code),
    ),
    of('ENOENT', { syscall: 'open' }),
    new Error('The server does not support SSL connections'),
    new Error('a bug'),
  ]) {
    let tries = 0
    const attempt = () => {
      tries++
      return Promise.reject(error)
    }
    await assert.rejects(untilThere('it', { seconds: 300, log }, attempt), (thrown) => thrown === error)
    assert.equal(tries, 1, String(error))
  }
})

test('what takes long is said again and again until it has ended', async () => {
  const said: string[] = []
  const log = { warn: (sentence: string) => said.push(sentence) } as unknown as Parameters<typeof saidWhile>[1]
  const slow = () => eventually(async () => said.length > 1)
  await saidWhile('it is slow', log, slow, 5)
  const count = said.length
  await assert.rejects(
    saidWhile('it is quick', log, () => Promise.reject(new Error('no'))),
    /^Error: no$/,
  )
  // Nothing is to come: ten times as long as between two lines.
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual([said[0], said.length], ['it is slow', count])
})

test('an address that the machine gets later is waited for, and is listened on then', async () => {
  const listened: string[] = []
  const app = {
    listen: async ({ host }: { host: string }) => {
      listened.push(host)
      if (listened.length === 1) throw Object.assign(new Error('not yet'), { code: 'EADDRNOTAVAIL' })
      return host
    },
  } as unknown as Parameters<typeof listenToClients>[0]
  await untilThere('HOST', { seconds: 300, log }, () => listenToClients(app, { host: '127.0.0.1', port: 0 }))
  assert.equal(listened.length, 2)
})

/** Berth within another program: `startBerth` of the npm package. docs/testing-your-integration.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { StartBerth } from '../src/package-types.ts'
import * as program from '../src/start-berth.ts'
import { assertWithin } from './support/time-limits.ts'
import { ENGINES, newDatabase } from './support/world.ts'

/** As the declarations of the package have it. */
const startBerth: StartBerth = program.startBerth

const authorization = (token: string | undefined) => ({ authorization: `Bearer ${token}` })

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-kept-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A folder for temporary files that nothing else uses. */
function newTemporaryFolder(t: TestContext): string {
  const folder = newFolder(t)
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  return folder
}

async function create(berth: { url: string; token: string | undefined }, name: string): Promise<number> {
  const headers = { ...authorization(berth.token), 'content-type': 'application/json' }
  const body = JSON.stringify({ name })
  return (await fetch(`${berth.url}/v10/projects`, { method: 'POST', headers, body })).status
}

for (const engine of ENGINES)
  test(`two services run in one process, each with its own store [${engine}]`, async (t) => {
    const settings = async () => (engine === 'postgres' ? { DATABASE_URL: await newDatabase() } : {})
    const [one, two] = await Promise.all([
      startBerth({ settings: await settings() }),
      startBerth({ settings: await settings() }),
    ])
    t.after(() => Promise.all([one.stop(), two.stop()]))
    assert.equal(await create(one, 'web'), 200)
    assert.notEqual(one.url, two.url)
    for (const [berth, status] of [
      [one, 200],
      [two, 404],
    ] as const) {
      const answer = await fetch(`${berth.url}/v9/projects/web`, { headers: authorization(berth.token) })
      assert.equal(answer.status, status)
    }
    const foreign = await fetch(`${two.url}/v9/projects/web`, { headers: authorization(one.token) })
    assert.equal(foreign.status, 401)
    assert.equal(
      (await fetch(`${one.url}/operator/v1/users`, { headers: authorization(one.operatorToken) })).status,
      200,
    )
  })

test('a stop leaves no port and no folder, and a second one waits for the first', async (t) => {
  const folder = newTemporaryFolder(t)
  const berth = await startBerth()
  assert.equal(readdirSync(folder).length, 1)
  assert.equal(await create(berth, 'web'), 200)
  await Promise.all([berth.stop({ graceMs: 0 }), berth.stop()])
  assert.deepEqual(readdirSync(folder), [])
  await assert.rejects(fetch(`${berth.url}/healthz`))
})

test('a stop takes less than 100 ms, also with connections that are kept open (a bound on time)', async () => {
  const berth = await startBerth()
  for (let at = 0; at < 20; at++) await create(berth, `web-${at}`)
  const since = performance.now()
  await berth.stop({ graceMs: 0 })
  assertWithin(performance.now() - since, 100)
})

/** A connection that has sent `text` and reads nothing; resolves once the service has read some of what came, as its answers to others show. */
async function connect(t: TestContext, { url }: { url: string }, text: string): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  socket.pause()
  await new Promise<void>((resolve) => socket.write(text, () => resolve()))
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  return socket
}

test('a stop does not wait for what clients have sent in part (a bound on time)', async (t) => {
  const berth = await startBerth()
  const post = `POST /v10/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${berth.token}\r\ncontent-type: application/json\r\n`
  const healthz = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'
  for (const text of ['', 'GET /he', post, `${post}content-length: 1000\r\n\r\n{`, `${healthz}GET /he`])
    await connect(t, berth, text)
  const since = performance.now()
  await berth.stop({ graceMs: 0 })
  assertWithin(performance.now() - since, 100)
})

test('a stop waits two seconds for a client that takes no answer, and not for ever (a bound on time)', async (t) => {
  const berth = await startBerth()
  await connect(t, berth, 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(50))
  const since = performance.now()
  await berth.stop({ graceMs: 0 })
  assertWithin(performance.now() - since, 3000)
})

test('a start that fails leaves the store free for the next one in the process', async (t) => {
  const dataFolder = newFolder(t)
  await (await startBerth({ dataFolder })).stop()
  const file = join(dataFolder, 'credentials.json')
  const credentials = readFileSync(file)
  writeFileSync(file, '{')
  await assert.rejects(startBerth({ dataFolder }), /credentials\.json is not JSON/)
  writeFileSync(file, credentials)
  const inStore = (statement: string) => {
    const store = new DatabaseSync(join(dataFolder, 'berth.db'))
    store.exec(statement)
    store.close()
  }
  inStore("insert into kysely_migration (name, timestamp) values ('9999-later', '2099')")
  await assert.rejects(startBerth({ dataFolder }), /written by a newer version/)
  inStore("delete from kysely_migration where name = '9999-later'")
  await (await startBerth({ dataFolder })).stop()
})

test('a folder that was said stays, and the next service finds its store there', async (t) => {
  const dataFolder = newFolder(t)
  const first = await startBerth({ dataFolder })
  assert.equal(await create(first, 'web'), 200)
  await first.stop()
  const next = await startBerth({ dataFolder })
  t.after(() => next.stop())
  assert.equal((await fetch(`${next.url}/v9/projects/web`, { headers: authorization(next.token) })).status, 200)
})

test('proxies are answered where their port is set, and only there', async (t) => {
  const berth = await startBerth({ settings: { BERTH_EDGE_PORT: '0' } })
  t.after(() => berth.stop())
  assert.equal((await fetch(`${berth.edgeUrl}/edge/v1/ready`)).status, 200)
  const without = await startBerth()
  t.after(() => without.stop())
  assert.equal(without.edgeUrl, undefined)
})

test('a setting that is wrong, or that Berth does not know, is named, and nothing is left', async (t) => {
  const folder = newTemporaryFolder(t)
  await assert.rejects(startBerth({ settings: { BERTH_TIMERS: 'perhaps' } }), /^Error: BERTH_TIMERS/)
  await assert.rejects(startBerth({ settings: { BERTH_TIMRES: 'off' } }), /BERTH_TIMRES.*BERTH_TIMERS/)
  assert.deepEqual(readdirSync(folder), [])
})

test('a port that is taken rejects, and the store is closed', async (t) => {
  const first = await startBerth()
  t.after(() => first.stop())
  const dataFolder = newFolder(t)
  const port = Number(new URL(first.url).port)
  const sentence = (told: string) => ({ code: 'EADDRINUSE', message: told })
  await assert.rejects(
    startBerth({ dataFolder, port }),
    sentence(`port ${port} on 127.0.0.1 is taken by another program: set PORT to a free one, or to 0`),
  )
  await assert.rejects(
    startBerth({ dataFolder, settings: { BERTH_EDGE_PORT: String(port) } }),
    sentence(
      `the port for proxies, ${port}, is taken by another program: set BERTH_EDGE_PORT to a free one, to 0 or to off`,
    ),
  )
  await (await startBerth({ dataFolder })).stop()
})

test('an option that is wrong, or that startBerth does not have, is named by a TypeError, and nothing is left', async (t) => {
  const folder = newTemporaryFolder(t)
  const wrong: Record<string, unknown[]> = {
    prot: [3000],
    port: [-1, 65_536, 1.5, '3000', Number.NaN, null],
    dataFolder: ['', 7, null],
    logLevel: ['', 3],
    settings: [null, 'BERTH_TIMERS=off'],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of values)
      await assert.rejects(startBerth({ [name]: value } as object), (error: Error) => {
        assert.ok(error instanceof TypeError && error.message.includes(`"${name}"`), `${name} ${value}: ${error}`)
        return true
      })
  assert.deepEqual(readdirSync(folder), [])
  await (await startBerth({ port: undefined, settings: undefined } as object)).stop()
})

test('a stop with an option that is wrong is named by a TypeError, and the service goes on', async (t) => {
  const berth = await startBerth()
  t.after(() => berth.stop())
  for (const options of [{ graceMs: -1 }, { graceMs: Number.NaN }, { graceMs: 2 ** 31 }, { grace: 0 }])
    await assert.rejects(berth.stop(options), (error: Error) => {
      assert.ok(error instanceof TypeError && error.message.includes(`"${Object.keys(options)[0]}"`), String(error))
      return true
    })
  assert.equal(await create(berth, 'web'), 200)
})

/** Reports of a sites server on what its data cache keeps. docs/data-cache.md: Size. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import {
  CACHES_PATH,
  type CacheReport,
  type CacheSize,
  MAX_LINES,
  RENEWED_MS,
} from '../../../src/delivery/protocol/usage-report.ts'
import { frameBytes } from '../../../src/launcher/frames.ts'
import { openDataCache } from '../../../src/sites/data-cache/data-cache.ts'
import { createDataEntries, DATA_BUDGET, type DataEntry, idOf } from '../../../src/sites/data-cache/entries.ts'
import { openSizeReports } from '../../../src/sites/data-cache/size-reports.ts'
import { eventually } from '../../support/eventually.ts'
import { newFolder, openCache } from '../content/caches.ts'
import { OWNER } from './serving.ts'

const BLOCK = 4096

/** A control plane that takes all. `take`: what it got since. */
async function openTaker(t: TestContext) {
  let reports: CacheReport[] = []
  const server = createServer(async (request, response) => {
    assert.deepEqual([request.url, request.headers.authorization], [CACHES_PATH, 'Bearer x'])
    reports.push((await json(request)) as CacheReport)
    response.end('counted')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const take = () => {
    const taken = reports
    reports = []
    return taken
  }
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { take, to: { origin, token: 'x', log: pino({ level: 'silent' }) } }
}

async function open(t: TestContext) {
  const { take, to } = await openTaker(t)
  const state = { sizes: [] as CacheSize[], now: 1 }
  const sending = openSizeReports({ ...to, sizes: () => state.sizes, now: () => state.now })
  t.after(() => sending.close())
  return { ...sending, state, take }
}

const size = (projectId: string, entries: number): CacheSize => ({
  ...{ projectId, environment: 'production', entries, bytes: entries * BLOCK },
})

test('what has changed is reported, the rest when it is due, and what is gone once, as empty', async (t) => {
  const { send, state, take } = await open(t)
  const sent = async () => {
    await send()
    return take().flatMap(({ caches }) => caches.map(({ projectId, entries }) => `${projectId} ${entries}`))
  }
  assert.deepEqual(await sent(), [], 'no report of nothing')
  state.sizes = [size('p1', 1), size('p2', 2)]
  assert.deepEqual(await sent(), ['p1 1', 'p2 2'])
  assert.deepEqual(await sent(), [])
  state.sizes = [size('p1', 1), size('p2', 3)]
  state.now = RENEWED_MS
  assert.deepEqual(await sent(), ['p2 3'])
  state.now = RENEWED_MS + 1
  assert.deepEqual(await sent(), ['p1 1'])
  state.sizes = [size('p2', 3)]
  assert.deepEqual([await sent(), await sent()], [['p1 0'], []])
})

test('many projects go in reports of at most a thousand, and a stop withdraws what was reported', async (t) => {
  const { send, close, state, take } = await open(t)
  state.sizes = Array.from({ length: 2 * MAX_LINES + 1 }, (_, at) => size(`p${at}`, 1))
  await send()
  assert.deepEqual(
    take().map(({ sequence, caches }) => [sequence, caches.length]),
    [
      [1, MAX_LINES],
      [2, MAX_LINES],
      [3, 1],
    ],
  )
  await close()
  assert.deepEqual(
    take().map(({ sequence, caches, ended }) => [sequence, caches.length, ended]),
    [[4, 0, true]],
  )
})

test('the size of a project is that of its environments, over the accounts that it belonged to', () => {
  const entries = createDataEntries(DATA_BUDGET, () => {})
  const keep = (account: string, environment: string, key: string) => {
    const space = `p1 ${environment}`
    const entry: DataEntry = {
      ...{ id: idOf(space, `${account} ${key}`), space, account, projectId: 'p1', environment, tags: ['t'] },
      ...{ body: { digest: account + key, size: BLOCK, isOwned: true }, at: 0, number: 0, expiresAt: null },
    }
    entries.keep(entry)
    return entry
  }
  const own = [keep('a', 'production', '1'), keep('b', 'production', '1'), keep('b', 'preview', '2')]
  assert.deepEqual(entries.sizes(), [
    { projectId: 'p1', environment: 'production', entries: 2, bytes: 2 * (BLOCK + 1) },
    { projectId: 'p1', environment: 'preview', entries: 1, bytes: BLOCK + 1 },
  ])
  for (const entry of own) entries.drop(entry)
  assert.deepEqual(entries.sizes(), [])
})

test('what functions put into the data cache is reported, and is withdrawn when the sites server stops', async (t) => {
  const { take, to } = await openTaker(t)
  const folder = newFolder(t)
  const data = await openDataCache({ ...to, cache: await openCache(t, {}), folder, reportMs: 5 })
  data.note('p1', {})
  const server = createSocketServer((socket) => data.serve(socket, OWNER)).listen(join(folder, 's'))
  await once(server, 'listening')
  const socket = connect(join(folder, 's'))
  t.after(() => {
    socket.destroy()
    server.close()
  })
  const set = frameBytes({ op: 'set', key: 'a'.repeat(64), tags: ['t'], number: 0 }, Buffer.from('value'))
  socket.write(Buffer.concat(set))
  let reports: CacheReport[] = []
  await eventually(() => {
    reports = reports.concat(take())
    return reports.length > 0
  })
  const { projectId, environment } = OWNER
  assert.deepEqual(reports[0]!.caches, [{ projectId, environment, entries: 1, bytes: BLOCK + 1 }])
  await data.close()
  assert.equal(take().at(-1)?.ended, true)
})

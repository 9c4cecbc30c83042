/** Pictures that are kept: within the budget of their account, until they are too old or purged. docs/pictures.md: Cache. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { openEgress } from '../../../src/platform/adapters/egress.ts'
import { addPurge, type CachePurges, type PurgeKind } from '../../../src/platform/verdict/cache-purges.ts'
import { openContentCache } from '../../../src/sites/content/content-cache.ts'
import { openPictures } from '../../../src/sites/pictures/pictures.ts'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { readVisit } from '../../../src/sites/visitors/visit.ts'
import { eventually } from '../../support/eventually.ts'
import { siteOf } from '../router/sites.ts'
import { get, imagePath, pngOf } from './png.ts'

const BUDGET = { pages: 8, texts: 1024 ** 2, ofAccount: { pages: 5, bytes: 1024 ** 2, texts: 1024 ** 2 } }

/** Pictures of another server, a different one for each query, behind a listener. */
async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-budget-'))
  const log = pino({ level: 'silent' })
  const fetch = async () => {
    throw new Error('nothing is fetched')
  }
  const cache = await openContentCache({ folder, budgetBytes: 1024 ** 3, fetch, onError: () => {} })
  const egress = openEgress(openDns(['127.0.0.1:1']), () => true)
  const askSelf = () => Promise.reject(new Error('nothing is asked'))
  let [at, purges]: [number, CachePurges | undefined] = [Date.now(), undefined]
  const now = () => at
  const means = { egress, cache, askSelf, sandbox: undefined, folder, log, budget: BUDGET, now }
  const start = () => openPictures(means)
  let pictures = await start()
  const site = await siteOf({ images: { sizes: [64], domains: ['127.0.0.1'] } })
  let [asked, fails] = [0, false]
  const server = createServer(async (raw, response) => {
    const visit = readVisit(raw, { trustedProxies: new BlockList() })
    assert.ok(!('sentence' in visit))
    if (visit.request.path === '/picture') {
      asked++
      if (fails) return void response.writeHead(500).end()
      return void response.end(pngOf(1 + Number(visit.request.search.slice(1)), 1))
    }
    const decision = resolve(site, visit.request)
    assert.equal(decision.kind, 'image')
    if (decision.kind !== 'image') return
    const place = { account: 'team_1', deploymentId: 'd1', visit, ask: async () => decision }
    await pictures.answer(decision.picture, { ...place, rules: decision, purges }, { raw, response })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.after(async () => {
    server.close()
    await Promise.all([pictures.close(), egress.close(), cache.close()])
    rmSync(folder, { recursive: true, force: true })
  })
  const restart = async () => {
    await pictures.close()
    pictures = await start()
  }
  const picture = (number: number) => get(origin, imagePath(`${origin}/picture?${number}`))
  return {
    ...{ picture, cache, restart, asked: () => asked },
    later: (ms: number) => {
      at += ms
    },
    purge: (kind: PurgeKind) => {
      purges = addPurge(purges, kind)
    },
    fail: () => {
      fails = true
    },
  }
}

test('one visitor with many queries evicts their own pictures, and those that stay are there after a restart', async (t) => {
  const { picture, cache, restart, asked } = await open(t)
  for (let number = 1; number <= 30; number++) assert.equal((await picture(number)).status, 200)
  assert.ok(cache.used().files <= 5, `${cache.used().files} files`)
  assert.equal((await picture(30)).headers['x-vercel-cache'], 'HIT')
  assert.equal((await picture(1)).headers['x-vercel-cache'], 'MISS')
  assert.equal(asked(), 31)
  await restart()
  assert.equal((await picture(30)).headers['x-vercel-cache'], 'HIT')
  assert.equal(asked(), 31)
})

test('a picture that is too old is shown while its source is asked for again, also when that fails; a purge of all pages removes it', async (t) => {
  const { picture, later, purge, fail, asked } = await open(t)
  const state = async () => (await picture(1)).headers['x-vercel-cache']
  assert.deepEqual([await state(), await state(), asked()], ['MISS', 'HIT', 1])
  later(61_000)
  assert.equal(await state(), 'STALE')
  await eventually(async () => (await state()) === 'HIT')
  assert.equal(asked(), 2)
  purge('stale')
  assert.equal(await state(), 'STALE')
  await eventually(async () => (await state()) === 'HIT')
  purge('gone')
  assert.deepEqual([await state(), asked()], ['MISS', 4])
  fail()
  later(61_000)
  assert.equal(await state(), 'STALE')
  await eventually(() => asked() === 5)
  assert.equal(await state(), 'STALE')
  purge('gone')
  later(11_000)
  assert.equal((await picture(1)).status, 502)
})

/** What sites servers keep in data caches: their reports, the page of the project, and the operator. docs/data-cache.md: Size. */
import assert from 'node:assert/strict'
import { CACHES_PATH, MAX_LINES, RENEWED_MS } from '../../../src/delivery/protocol/usage-report.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const KIB = 1024
const [ONE, TWO] = ['serverserver0001', 'serverserver0002']
const BEARER = { authorization: `Bearer ${SITES_TOKEN}` }
const ROOT = '/console/t/admin/projects'

const size = (projectId: string, entries: number, kib: number, environment = 'production') => ({
  ...{ projectId, environment, entries, bytes: kib * KIB },
})

async function open(world: World) {
  const { origin, close } = await openInstance(world)
  const create = async (name: string) => (await world.call('POST', '/v10/projects', { name })).body.id
  const client = await openSignedInClient(world)
  return {
    ...{ create, client, close },
    async send(report: object | string, headers: Record<string, string> = BEARER) {
      const body = typeof report === 'string' ? report : JSON.stringify(report)
      const answer = await fetch(origin + CACHES_PATH, { method: 'POST', headers, body })
      return { status: answer.status, text: await answer.text() }
    },
    /** What the page of settings says of the data cache, without markup. */
    async shown(name: string) {
      const { text } = await client.get(`${ROOT}/${name}/settings`)
      const [, line = assert.fail(text)] = /<strong>Enabled<\/strong><\/p>\s*<p[^>]*>(.*?)<\/p>/s.exec(text) ?? []
      return line.replaceAll(/<[^>]*>/g, '')
    },
    stored: () => world.deps.db.read.selectFrom('data_cache_size').selectAll().orderBy('server').execute(),
  }
}

onBothEngines(
  'what sites servers report of a project adds up on its page and for the operator, and a repeated report changes nothing',
  async (world) => {
    const { create, send, shown, close } = await open(world)
    const [web, docs] = [await create('web'), await create('docs')]
    assert.match(
      await shown('web'),
      /^Empty: no sites server reports data of this project\. An account may have 256\.0 MiB/,
    )
    const first = { server: ONE, sequence: 1, caches: [size(web, 1, 4), size(docs, 30, 900, 'env_1')] }
    assert.equal((await send(first)).status, 200)
    assert.match(await shown('web'), /^4\.0 KiB in 1 entry, on 1 sites server, reported .*\. An account may have/)
    const second = { server: TWO, sequence: 1, caches: [size(web, 3, 12), size(web, 2, 8, 'preview')] }
    assert.equal((await send(second)).status, 200)
    const later = { server: ONE, sequence: 2, caches: [size(web, 5, 20)] }
    for (const report of [later, first, later]) assert.equal((await send(report)).status, 200)
    assert.match(
      await shown('web'),
      /^40\.0 KiB in 10 entries, on 2 sites servers, reported .*\. Production 32\.0 KiB, Preview 8\.0 KiB\. /,
    )
    assert.deepEqual((await world.operator('GET', '/operator/v1/statistics')).body.dataCaches, {
      ...{ servers: 2, entries: 40, bytes: 940 * KIB },
      largest: [
        { projectId: docs, entries: 30, bytes: 900 * KIB },
        { projectId: web, entries: 10, bytes: 40 * KIB },
      ],
    })
    // Empty again at one of them.
    await send({ server: TWO, sequence: 2, caches: [size(web, 0, 0), size(web, 0, 0, 'preview')] })
    assert.match(await shown('web'), /^20\.0 KiB in 5 entries, on 1 sites server/)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'without the token of sites servers, or malformed, a report changes nothing; unknown projects are left out',
  async (world) => {
    const { create, send, stored, close } = await open(world)
    const web = await create('web')
    const good = { server: ONE, sequence: 1, caches: [size(web, 1, 4)] }
    const strangers: Record<string, string>[] = [{}, { authorization: 'Bearer wrong' }]
    for (const headers of strangers) assert.equal((await send(good, headers)).status, 401)
    const of = (changes: object) => ({ ...good, caches: [{ ...good.caches[0], ...changes }] })
    const wrong = [
      ...['', '{', '[]', '{}', { ...good, server: 'short' }, { ...good, sequence: 0 }],
      { ...good, caches: [good.caches[0], good.caches[0]] },
      { ...good, caches: Array.from({ length: MAX_LINES + 1 }, (_, at) => size(`p${at}`, 1, 1)) },
      ...[{ entries: -1 }, { bytes: 2 ** 51 }, { environment: 'a b' }, { projectId: '' }].map(of),
    ]
    for (const body of wrong) {
      const { status, text } = await send(body)
      assert.deepEqual([status, /report of data caches/.test(text)], [400, true], JSON.stringify(body).slice(0, 200))
    }
    assert.equal((await send({ ...good, more: 'x'.repeat(300_000) })).status, 413)
    assert.deepEqual(await stored(), [])
    assert.equal((await send({ ...good, caches: [size('prj_none', 1, 4), ...good.caches] })).status, 200)
    assert.deepEqual(
      (await stored()).map(({ project_id, entries, bytes }) => [project_id, entries, Number(bytes)]),
      [[web, 1, 4 * KIB]],
    )
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'sizes go with their project, with a sites server that stops, and with one that reports no more',
  async (world) => {
    const { create, send, shown, stored, close } = await open(world)
    const [web, docs] = [await create('web'), await create('docs')]
    const servers = async () => (await stored()).map(({ server, project_id }) => [server, project_id === web])
    for (const server of [ONE, TWO]) await send({ server, sequence: 1, caches: [size(web, 1, 4), size(docs, 1, 4)] })
    await world.call('DELETE', `/v9/projects/${docs}`)
    assert.deepEqual(await servers(), [
      [ONE, true],
      [TWO, true],
    ])
    await send({ server: ONE, sequence: 2, caches: [], ended: true })
    assert.deepEqual(await servers(), [[TWO, true]])
    const reported = Number((await stored())[0]!.reported_at)
    const sweep = async (now: number) =>
      (await world.operator('POST', '/operator/v1/timers/old-data-cache-sizes/run', { now })).body.swept
    assert.equal(await sweep(reported + 2.4 * RENEWED_MS), 0)
    assert.match(await shown('web'), /^4\.0 KiB/)
    world.deps.clock.set(reported + 2.6 * RENEWED_MS)
    assert.match(await shown('web'), /^Empty/)
    assert.equal((await world.operator('GET', '/operator/v1/statistics')).body.dataCaches.servers, 0)
    assert.equal(await sweep(reported + 2.6 * RENEWED_MS), 1)
    assert.deepEqual(await stored(), [])
    await close()
  },
  SETTINGS,
)

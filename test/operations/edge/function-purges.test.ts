/** Purges by functions and the switch of the data cache, from the control plane to what sites servers follow. docs/data-cache.md: Purges. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PURGE_PATH } from '../../../src/delivery/protocol/purge-channel.ts'
import { addPurge, type CachePurges, lastPurgeOf, purgeOf } from '../../../src/platform/verdict/cache-purges.ts'
import { READERS } from '../../../src/readers.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const BEARER = { authorization: `Bearer ${SITES_TOKEN}` }

onBothEngines(
  'a purge by a function is answered with all purges of its project, and follows with the next lines',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy({ upstream: 'http://10.0.0.7:3000' })
    const { origin, snapshot, settle, close } = await openInstance(world)
    await settle()
    const before = (await snapshot())!
    const send = async (report: unknown, headers: Record<string, string> = BEARER) => {
      const body = typeof report === 'string' ? report : JSON.stringify(report)
      const answer = await fetch(`${origin}${PURGE_PATH}`, { method: 'POST', headers, body })
      return { status: answer.status, text: await answer.text() }
    }
    const purge = { projectId: web.id, environment: 'preview', kind: 'gone', tags: ['posts', '_N_T_/ü'] }
    const answers = await Promise.all(
      ['preview', 'production', 'preview'].map((environment) => send({ ...purge, environment })),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    const lasts = answers.map(({ text }) => (JSON.parse(text) as CachePurges).last)
    assert.deepEqual(lasts.sort(), [1, 2, 3], 'none is lost')
    await settle()
    const { lines } = (await snapshot(before.version))!
    const [line] = lines.filter((one) => one.kind === 'project')
    const { purges } = line ?? assert.fail('no line of the project')
    const made = { number: 0, tags: ['posts'] }
    assert.deepEqual(
      ['preview', 'production', 'env_1', undefined].map((environment) => purgeOf(purges!, made, environment)),
      ['gone', 'gone', undefined, undefined],
    )
    for (const wrong of [
      'no json',
      {},
      { ...purge, tags: [] },
      { ...purge, tags: [''] },
      { ...purge, environment: 'a b' },
    ])
      assert.equal((await send(wrong)).status, 400, JSON.stringify(wrong))
    assert.equal((await send({ ...purge, tags: Array(129).fill('a') })).status, 400)
    assert.equal((await send({ ...purge, projectId: 'prj_none' })).status, 404)
    assert.equal((await send('x'.repeat(600_000))).status, 413)
    assert.equal((await send(purge, { authorization: 'Bearer wrong' })).status, 401)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'the switch of the data cache reaches sites servers',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy({ upstream: 'http://10.0.0.7:3000' })
    const { snapshot, settle, close } = await openInstance(world)
    await settle()
    let { version } = (await snapshot())!
    for (const disabled of [true, false]) {
      await world.call('PATCH', `/v1/data-cache/projects/${web.id}`, { disabled })
      await settle()
      const next = (await snapshot(version))!
      version = next.version
      const [line] = next.lines.filter((one) => one.kind === 'project')
      assert.deepEqual(line?.settings, disabled ? { dataCacheDisabled: true } : undefined)
    }
    await close()
  },
  SETTINGS,
)

test('purges of one environment change nothing in another, however many they are', () => {
  let purges = addPurge(undefined, 'gone', ['own'], 'production')
  for (let at = 0; at < 1000; at++) purges = addPurge(purges, 'gone', [`tag ${at}`], 'preview')
  const made = (number: number, ...tags: string[]) => ({ number, tags })
  assert.equal(purgeOf(purges, made(1, 'any'), 'production'), undefined)
  assert.equal(purgeOf(purges, made(0, 'own'), 'production'), 'gone')
  assert.equal(purgeOf(purges, made(900, 'any'), 'preview'), 'gone', 'the oldest count for all of it')
  assert.equal(purgeOf(purges, made(1001, 'any'), 'preview'), undefined)
  assert.deepEqual([lastPurgeOf(purges, 'production'), lastPurgeOf(purges, 'preview')], [1, 1001])
  assert.deepEqual([lastPurgeOf(undefined, 'preview'), lastPurgeOf(purges, 'env_1')], [0, 0])
  const all = addPurge(purges, 'stale', ['any'])
  assert.deepEqual(
    ['production', 'preview', 'env_1'].map((environment) => purgeOf(all, made(1001, 'any'), environment)),
    ['stale', 'stale', 'stale'],
  )
})

test('the purges of a project with as many environments as it may have fit into a line', () => {
  let purges: CachePurges | undefined
  const environments = ['production', 'preview', ...Array.from({ length: 20 }, (_, at) => `env_${'x'.repeat(28)}${at}`)]
  for (const environment of [undefined, ...environments])
    for (let at = 0; at < 200; at += 100) {
      const tags = Array.from({ length: 100 }, (_, one) => `${environment} ${at} ${one}`)
      purges = addPurge(purges, 'stale', tags, environment)
    }
  assert.equal(Object.keys(purges!.environments!).length, 14)
  const line = JSON.stringify({ purges: { ...purges, last: 1e9 } })
  assert.ok(line.length < READERS['line of the control plane'].bytes / 2, `${line.length}`)
  const [removed] = environments.slice(2)
  assert.equal(purgeOf(purges!, { number: 1, tags: ['any'] }, removed), 'gone', 'what was forgotten counts as purged')
})

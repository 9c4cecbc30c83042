/** Purges of cached pages, from the API to what sites servers follow. docs/prerendering.md: Purge. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPurge, purgeOf } from '../../../src/platform/verdict/cache-purges.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'

onBothEngines(
  'a purge of the command line reaches sites servers with the next lines, in its order',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy({ upstream: 'http://10.0.0.7:3000' })
    const { snapshot, settle, close } = await openInstance(world)
    await settle()
    const before = (await snapshot())!
    const ask = (path: string, body?: object, method: 'POST' | 'DELETE' = 'POST') =>
      world.call.try(method, `${path}?projectIdOrName=web` as '/v1/edge-cache/purge-all', body as never)
    const tags = '/v1/edge-cache/dangerously-delete-by-tags'
    const purged = await ask('/v1/edge-cache/invalidate-by-tags', { tags: 'news, posts' })
    assert.deepEqual([purged.status, purged.body], [200, { id: web.id }])
    assert.equal((await ask(tags, { tags: ['news'] })).status, 200)
    assert.equal((await ask('/v1/edge-cache/purge-all')).status, 200)
    assert.equal((await ask(tags, { tags: 'late', revalidationDeadlineSeconds: 60 })).status, 200)
    await settle()
    const { lines } = (await snapshot(before.version))!
    const [line] = lines.filter((one) => one.kind === 'project')
    const { purges } = line ?? assert.fail('no line of the project')
    const kinds = [[], ['news'], ['posts'], ['late']].flatMap((one) =>
      [0, 1, 2, 3, 4].map((number) => purgeOf(purges!, { number, tags: one }) ?? '-'),
    )
    const beforeAll = ['gone', 'gone', 'gone']
    assert.deepEqual(kinds, [
      ...[...beforeAll, '-', '-', ...beforeAll, '-', '-', ...beforeAll, '-', '-'],
      ...[...beforeAll, 'stale', '-'],
    ])
    assert.equal((await ask('/v1/data-cache/purge-all', undefined, 'DELETE')).status, 200)
    await close()
  },
  SETTINGS,
)

onBothEngines('a purge names the project of the account, and at most 16 tags', async (world) => {
  await seedWebProject(world)
  const ask = (name: string, tags: unknown) =>
    world.call.try('POST', `/v1/edge-cache/invalidate-by-tags?projectIdOrName=${name}` as never, { tags } as never)
  assert.equal((await ask('other', 'a')).status, 404)
  for (const tags of ['', ',', 'a,,b', 'x'.repeat(257), Array(17).fill('a').join(), [], ['a', 1], 7])
    assert.equal((await ask('web', tags)).status, 400, JSON.stringify(tags))
  assert.equal((await ask('web', Array(16).fill('a'))).status, 200)
})

test('a purged page does not return as a stale one, and pages rendered since stay', () => {
  const purges = addPurge(addPurge(undefined, 'gone', ['a']), 'stale', ['a', 'b'])
  assert.deepEqual(
    [
      purgeOf(purges, { number: 0, tags: ['a'] }),
      purgeOf(purges, { number: 1, tags: ['b', 'c'] }),
      purgeOf(purges, { number: 2, tags: ['a', 'b'] }),
      purgeOf(purges, { number: 0, tags: ['c'] }),
    ],
    ['gone', 'stale', undefined, undefined],
  )
})

test('where tags become too many for a line, the oldest count for every page', () => {
  let purges = addPurge(undefined, 'gone', ['deleted'])
  for (let at = 0; at < 128; at++) purges = addPurge(purges, 'stale', [`tag ${at}`])
  assert.equal(Object.keys(purges.tags).length, 128)
  assert.ok(JSON.stringify(purges).length < 4096, 'it fits into a line')
  assert.equal(purgeOf(purges, { number: 0, tags: ['any'] }), 'gone')
  assert.equal(purgeOf(purges, { number: 1, tags: ['any'] }), undefined)
  purges = addPurge(purges, 'stale', ['one more'])
  assert.equal(purgeOf(purges, { number: 1, tags: ['any'] }), 'stale')
  assert.equal(purgeOf(purges, { number: 2, tags: ['tag 127'] }), 'stale')
})

test('tags are read once for all lists, and not where no purge is newer or none names a tag', () => {
  const all = addPurge(addPurge(undefined, 'stale', ['a']), 'stale', ['b'], 'production')
  let reads = 0
  const made = (number: number) => ({
    number,
    get tags() {
      reads++
      return ['a', 'b']
    },
  })
  assert.equal(purgeOf(all, made(0), 'production'), 'stale')
  assert.equal(reads, 1)
  assert.equal(purgeOf(all, made(2), 'production'), undefined)
  assert.equal(purgeOf(addPurge(addPurge(undefined, 'stale'), 'gone'), made(1)), 'gone')
  assert.equal(purgeOf(addPurge(addPurge(undefined, 'gone'), 'stale'), made(1)), 'stale')
  assert.equal(reads, 1)
})

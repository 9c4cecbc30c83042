/** The data cache as functions see it: by Next.js, by `@vercel/functions`, and by hostile ones. docs/data-cache.md. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { deployment, name, project } from '../snapshot/lines.ts'

/** Does what the query says. `next`: as Next.js asks; each request has an instance of its own. */
const USER = `const context = () => globalThis[Symbol.for('@vercel/request-context')].get()
const Next = globalThis[Symbol.for('@next/cache-handlers')].FetchCache
export async function GET(request) {
  const { op, key = 'k', value, tags, ttl, next, expire } = Object.fromEntries(new URL(request.url).searchParams)
  const list = tags?.split(',') ?? []
  const { cache, purge } = context()
  const fetchCache = new Next({ revalidatedTags: [], _requestHeaders: {} })
  try {
    if (op === 'fetch') {
      const before = await fetchCache.get(key, { kind: 'FETCH', tags: list, softTags: ['_N_T_/page'] })
      await fetchCache.set(key, { kind: 'FETCH', data: { body: value }, revalidate: 60, tags: list }, { fetchCache: true, tags: list })
      return Response.json({ before: before && { body: before.value.data.body, isOld: before.lastModified < Date.now() - 3600_000 } })
    }
    if (op === 'read') return Response.json(await fetchCache.get(key, { kind: 'FETCH', tags: list, softTags: ['_N_T_/page'] }).then((found) => found && found.value.data.body))
    if (op === 'page') return Response.json([await fetchCache.get(key, { kind: 'APP_PAGE' }), await fetchCache.set(key, { kind: 'APP_PAGE' }, {}) ?? null])
    if (op === 'revalidate') return Response.json(await fetchCache.revalidateTag(list, expire && { expire: Number(expire) }) ?? null)
    if (op === 'set') return Response.json(await cache.set(key, value, { tags: list, ttl: ttl && Number(ttl) }) ?? null)
    if (op === 'get') return Response.json(await cache.get(key))
    if (op === 'outrun') {
      const before = await cache.get(key)
      await purge.dangerouslyDeleteByTag(list)
      await cache.set(key, value, { tags: list })
      return Response.json(before)
    }
    if (op === 'delete') return Response.json(await cache.delete(key) ?? null)
    if (op === 'invalidate') return Response.json(await purge.invalidateByTag(list) ?? null)
    if (op === 'large') return Response.json(await cache.set(key, 'x'.repeat(3 * 1024 ** 2)) ?? null)
  } catch (error) { return new Response(error.message, { status: 400 }) }
}`

const CONTENTS = { ...functionOf('api/one', USER), ...functionOf('api/two', USER) }

async function show(t: TestContext) {
  const shown = await showFunctions(t, CONTENTS)
  const use = async (query: Record<string, string>, path = '/api/one', host?: string) => {
    const reply = await (host === undefined
      ? shown.visit(`${path}?${new URLSearchParams(query)}`)
      : shown.site.visit(host, `${path}?${new URLSearchParams(query)}`))
    assert.equal(reply.status, 200, reply.text)
    return JSON.parse(reply.text)
  }
  return { ...shown, use }
}

test('what one function fetches is there for the others of its project, until a function purges its tag or path', async (t) => {
  const { use, control } = await show(t)
  const fetch = (value: string, path?: string) => use({ op: 'fetch', value, tags: 'posts,all' }, path)
  const read = () => use({ op: 'read', tags: 'posts' }, '/api/two')
  assert.deepEqual(await fetch('first'), { before: null })
  assert.equal(await read(), 'first')
  assert.deepEqual(await fetch('second', '/api/two'), { before: { body: 'first', isOld: false } })
  await use({ op: 'revalidate', tags: 'other' })
  assert.equal(await read(), 'second')
  for (const tags of ['posts', '_N_T_/page']) {
    await use({ op: 'revalidate', tags }, '/api/two')
    assert.equal(await read(), null)
    assert.deepEqual(await fetch('second'), { before: null })
  }
  assert.deepEqual(
    control.purges.map(({ projectId, environment, kind, tags }) => [projectId, environment, kind, tags.join()]),
    ['other', 'posts', '_N_T_/page'].map((tag) => ['p1', 'production', 'gone', tag]),
  )
})

test('with a lifetime a tag is only stale, and entries of pages are not of this cache', async (t) => {
  const { use, control } = await show(t)
  await use({ op: 'fetch', value: 'first', tags: 'posts' })
  await use({ op: 'revalidate', tags: 'posts', expire: '3600' })
  assert.deepEqual(await use({ op: 'fetch', value: 'second', tags: 'posts' }), {
    before: { body: 'first', isOld: true },
  })
  assert.equal(control.purges[0]?.kind, 'stale')
  assert.deepEqual(await use({ op: 'page' }), [null, null])
})

test('getCache keeps values with tags and a lifetime, and deletes them', async (t) => {
  const { use } = await show(t)
  assert.equal(await use({ op: 'get' }), null)
  await use({ op: 'set', value: 'ü', tags: 'a' })
  await use({ op: 'set', key: 'short', value: 'v', ttl: '0.001' })
  assert.equal(await use({ op: 'get' }, '/api/two'), 'ü')
  await eventually(async () => (await use({ op: 'get', key: 'short' })) === null)
  await use({ op: 'invalidate', tags: 'a' })
  assert.equal(await use({ op: 'get' }), null, 'what is stale is not given')
  await use({ op: 'set', value: 'new' })
  await use({ op: 'delete' }, '/api/two')
  assert.equal(await use({ op: 'get' }), null)
  await use({ op: 'large', key: 'large' })
  assert.equal(await use({ op: 'get', key: 'large' }), null, 'a value of 3 MiB is not kept')
})

test('a purge is not lost between a look into getCache and what is written then, and counts for that request alone', async (t) => {
  const { use } = await show(t)
  assert.equal(await use({ op: 'outrun', value: 'made before the purge', tags: 'a' }), null)
  assert.equal(await use({ op: 'get' }, '/api/two'), null)
  await use({ op: 'set', value: 'made after it', tags: 'a' })
  assert.equal(await use({ op: 'outrun', value: 'made before the next', tags: 'a' }), 'made after it')
  assert.equal(await use({ op: 'get' }), null)
})

test('another project or environment neither reads, nor changes, nor purges it', async (t) => {
  const { use, control, site } = await show(t)
  const { output } = control
  control.change([
    ...[name('preview.example', 'd2'), deployment('d2', { output, production: false }), project('p1')],
    ...[name('other.example', 'd3', 'p2'), deployment('d3', { output, projectId: 'p2' }), project('p2')],
  ])
  for (const host of ['preview.example', 'other.example'])
    await eventually(async () => (await site.visit(host, '/api/one?op=get')).status === 200)
  await use({ op: 'set', value: 'of production', tags: 'a' })
  for (const host of ['preview.example', 'other.example']) {
    assert.equal(await use({ op: 'get' }, '/api/one', host), null, host)
    await use({ op: 'set', value: host, tags: 'a' }, '/api/one', host)
    await use({ op: 'delete', key: 'none' }, '/api/one', host)
    await use({ op: 'revalidate', tags: 'a' }, '/api/one', host)
    assert.equal(await use({ op: 'get' }, '/api/one', host), null, 'it purges its own')
    assert.equal(await use({ op: 'get' }), 'of production')
  }
})

test('the switch of the project is felt at once, also by a function that runs', async (t) => {
  const { use, control } = await show(t)
  await use({ op: 'fetch', value: 'first' })
  control.change([project('p1', { settings: { dataCacheDisabled: true } })])
  await eventually(async () => (await use({ op: 'read' })) === null)
  await use({ op: 'fetch', value: 'second' })
  await use({ op: 'set', value: 'second' })
  assert.equal(await use({ op: 'get' }), null)
  control.change([project('p1')])
  await eventually(async () => (await use({ op: 'read' })) === 'first')
})

/** Pages whose bytes something else has too: the data cache and files have one copy in the file cache. docs/prerendering.md: Budget. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionOf, showFunctions } from '../functions/function-site.ts'

/** The page is the JSON of a value that the function caches, and both have the same bytes. */
const PAGE = `export async function GET() { return Response.json({ posts: [1, 2, 3] }) }`
const DATA = `export async function GET(request) {
  const { cache } = globalThis[Symbol.for('@vercel/request-context')].get()
  const isSet = new URL(request.url).searchParams.has('set')
  await (isSet ? cache.set('posts', { posts: [1, 2, 3] }) : cache.delete('posts'))
  return new Response('done')
}`

test('a page stays when the data cache removes what has the same bytes', async (t) => {
  const { visit } = await showFunctions(t, {
    ...functionOf('page', PAGE),
    ...functionOf('api/data', DATA),
    'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: false, allowQuery: [] }),
  })
  assert.equal((await visit('/api/data?set')).text, 'done')
  const first = await visit('/page')
  assert.deepEqual([first.status, first.headers['x-vercel-cache']], [200, 'MISS'])
  assert.equal((await visit('/page')).headers['x-vercel-cache'], 'HIT')
  assert.equal((await visit('/api/data')).text, 'done')
  for (const cached of ['MISS', 'HIT']) {
    const again = await visit('/page')
    assert.deepEqual([again.status, again.text, again.headers['x-vercel-cache']], [200, first.text, cached])
  }
})

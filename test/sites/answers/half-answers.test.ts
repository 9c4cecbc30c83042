/** Answers of functions that end early are kept nowhere. docs/prerendering.md: Answers of functions, Cacheable responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { get, imagePath, pngOf } from '../pictures/png.ts'
import { SITE } from '../visitors/control-plane.ts'

/** The first answer of each kind ends early, in the way that the query says. Later ones are whole. */
const FUNCTION = `const seen = new Set()
const PNG = Buffer.from('${pngOf(400, 400).toString('base64')}', 'base64')
export default (req, res) => {
  const how = new URL(req.url, 'http://here').searchParams.get('how')
  const isFirst = !seen.has(how)
  seen.add(how)
  res.setHeader('cache-control', 's-maxage=600')
  if (how?.startsWith('length')) res.setHeader('content-length', PNG.length)
  if (how?.startsWith('trailers')) res.setHeader('trailer', 'x-late')
  res.write(PNG.subarray(0, PNG.length / 2))
  setTimeout(() => {
    if (isFirst && !how?.startsWith('trailers')) return res.destroy()
    if (how?.startsWith('trailers')) res.addTrailers({ 'x-late': '1', 'set-cookie': 'late=1' })
    res.end(PNG.subarray(PNG.length / 2))
  }, 50)
}`

test('an answer, a page and a picture whose body ends early are not kept, and trailers reach no one', async (t) => {
  const contents = {
    ...functionOf('api/it', FUNCTION, { shouldAddHelpers: false }),
    ...functionOf('page', FUNCTION, { shouldAddHelpers: false }),
    'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600 }),
  }
  const { origin } = await showFunctions(t, contents, { config: { images: { sizes: [64], domains: [] } } })
  const size = pngOf(400, 400).length
  const see = (path: string) => get(origin, path, { host: SITE }).catch((error) => error.code as string)
  for (const how of ['length', 'chunks']) {
    assert.equal(await see(`/api/it?how=${how}`), 'ECONNRESET')
    const page = await see(`/page?how=${how}`)
    assert.ok(typeof page === 'object' && page.status >= 500, JSON.stringify(page))
    const picture = await see(imagePath(`/api/it?how=${how}picture`))
    assert.ok(typeof picture === 'object' && picture.status === 502, JSON.stringify(picture))
  }
  for (const path of [
    '/api/it?how=length',
    '/api/it?how=chunks',
    '/page?how=length',
    '/page?how=chunks',
    '/api/it?how=trailers',
  ])
    for (const cached of ['MISS', 'HIT']) {
      const whole = await see(path)
      assert.ok(typeof whole === 'object', path)
      assert.deepEqual([whole.status, whole.bytes.length, whole.headers['x-vercel-cache']], [200, size, cached], path)
      assert.deepEqual([whole.headers.trailer, whole.headers['set-cookie']], [undefined, undefined])
    }
})

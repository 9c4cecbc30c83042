/** Pictures whose source a function of the deployment makes. docs/pictures.md: Sources. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { SITE } from '../visitors/control-plane.ts'
import { get, imagePath, pngOf } from './png.ts'

const PNG = pngOf(3, 2).toString('base64')

const MODULE = `let calls = 0
export function GET(request) {
  const { searchParams } = new URL(request.url)
  if (searchParams.has('fails')) return new Response('no', { status: 500 })
  if (searchParams.has('calls')) return new Response(String(calls))
  calls++
  const seen = ['cookie', 'authorization', 'x-own', 'x-vercel-cron-schedule'].filter((name) => request.headers.has(name))
  if (seen.length > 0 || searchParams.get('title') !== 'a b') return new Response(seen.join(), { status: 500 })
  return new Response(Buffer.from('${PNG}', 'base64'), {
    headers: { 'content-type': 'text/html', 'set-cookie': 'own=1', 'cache-control': 'public, max-age=5, s-maxage=600' },
  })
}`

test('a function makes the source for all visitors, without anything of one, and its cookie goes to none', async (t) => {
  const config = { images: { sizes: [64], domains: [] } }
  const { origin, visit } = await showFunctions(t, functionOf('api/og', MODULE), { config })
  const own = { cookie: 'session=1', authorization: 'Bearer x', 'x-own': 'yes' }
  const picture = (url: string) => get(origin, imagePath(url), { host: SITE, ...own })
  const answers = await Promise.all(Array.from({ length: 5 }, () => picture('/api/og?title=a b')))
  for (const { status, headers, bytes } of answers) {
    assert.deepEqual(
      [status, headers['content-type'], headers['set-cookie']],
      [200, 'image/png', undefined],
      String(bytes),
    )
    assert.deepEqual([headers['cache-control'], bytes.toString('base64')], ['public, max-age=5', PNG])
  }
  assert.equal((await visit('/api/og?calls')).text, '1')
  const failed = await picture('/api/og?fails')
  assert.deepEqual([failed.status, failed.headers['x-vercel-error']], [502, 'INTERNAL_OPTIMIZED_IMAGE_REQUEST_FAILED'])
  assert.equal((await picture('/api/og?calls')).status, 400)
})

/** One tenant's functions against another's on one sites server: what is cached, ids and lines, places and output. Each with a control. docs/functions.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { imagePath, pngOf } from '../pictures/png.ts'
import { SITE } from '../visitors/control-plane.ts'
import { functionOf } from './function-site.ts'
import { ONE_ID, OTHER, OTHER_ID, showTenants } from './tenants.ts'

const SHARED = `let count = 0
export const GET = (request) => new Response(new URL(request.url).host + ' ' + ++count, {
  headers: { 'cache-control': 's-maxage=600', 'vercel-cache-tag': 'a', 'x-next-cache-tags': 'a' },
})`
const PURGE = `export async function GET() {
  await globalThis[Symbol.for('@vercel/request-context')].get().purge.dangerouslyDeleteByTag(['a'])
  return new Response('purged')
}`
const KEPT = ['/api/shared', '/page', imagePath('/a.png')]

test('no tenant gets or purges what another one has cached: answers, pages, pictures', async (t) => {
  const contents = {
    ...functionOf('api/shared', SHARED),
    ...functionOf('api/purge', PURGE),
    ...functionOf('page', SHARED),
    'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600, allowQuery: [] }),
    'static/a.png': pngOf(10, 10),
  }
  const { site } = await showTenants(t, {}, contents, { images: { sizes: [64], domains: [] } })
  const see = async (host: string, path: string) => {
    const { status, text, headers } = await site.visit(host, path)
    assert.equal(status, 200, text)
    return { text, cached: headers['x-vercel-cache'] }
  }
  for (const path of KEPT)
    for (const host of [SITE, OTHER]) {
      const first = await see(host, path)
      assert.equal(first.cached, 'MISS', `${path} of ${host}`)
      if (!path.includes('image')) assert.equal(first.text, `${host} 1`)
      assert.deepEqual(await see(host, path), { ...first, cached: 'HIT' }, 'the control')
    }
  assert.equal((await see(OTHER, '/api/purge')).text, 'purged')
  for (const path of KEPT.slice(0, 2)) {
    assert.deepEqual(await see(SITE, path), { text: `${SITE} 1`, cached: 'HIT' })
    assert.deepEqual(await see(OTHER, path), { text: `${OTHER} 2`, cached: 'MISS' }, 'the control: its own are purged')
  }
})

const ID = `export function GET(request) {
  console.log('of ' + new URL(request.url).host)
  return new Response(request.headers.get('x-vercel-id'), { headers: { 'x-vercel-id': 'ber1::forged' } })
}`

test('a request has an id of its own, whatever its visitor or its function say, and a line is of the deployment that wrote it', async (t) => {
  const { site, control } = await showTenants(t, {}, functionOf('api/id', ID))
  const own = await site.visit(SITE, '/api/id')
  const id = String(own.headers['x-vercel-id'])
  const forged = await site.visit(OTHER, '/api/id', { 'x-vercel-id': id })
  assert.equal(own.text, id)
  assert.equal(forged.text, forged.headers['x-vercel-id'])
  assert.notEqual(forged.text, id)
  const of = (host: string) => control.lines.find(({ text }) => text === `of ${host}`)
  await eventually(() => of(SITE) !== undefined && of(OTHER) !== undefined)
  assert.deepEqual([of(SITE)!.deploymentId, of(SITE)!.requestId], [ONE_ID, id])
  assert.deepEqual([of(OTHER)!.deploymentId, of(OTHER)!.requestId], [OTHER_ID, forged.text])
})

/** `?hold` waits for `?go`. */
const HOLD = `const held = []
export function GET({ url }) {
  if (url.endsWith('?hold')) return new Promise((go) => held.push(() => go(new Response('held'))))
  if (url.endsWith('?go')) for (const go of held.splice(0)) go()
  return new Response(String(held.length))
}`

test('a tenant whose functions hold all places that it may have leaves those of others theirs', async (t) => {
  const contents = Object.assign({}, ...[0, 1, 2].map((at) => functionOf(`api/hold${at}`, HOLD, { maxDuration: 300 })))
  const { site } = await showTenants(t, { processes: 4 }, contents)
  const textOf = async (host: string, path: string) => (await site.visit(host, path)).text
  const held = [0, 1].map((at) => textOf(OTHER, `/api/hold${at}?hold`))
  for (const at of [0, 1]) await eventually(async () => (await textOf(OTHER, `/api/hold${at}`)) === '1')
  let isAnswered = false
  const third = textOf(OTHER, '/api/hold2').finally(() => {
    isAnswered = true
  })
  for (const at of [0, 1]) assert.equal(await textOf(SITE, `/api/hold${at}`), '0')
  assert.equal(isAnswered, false, 'the control: a third one of its own waits')
  for (const at of [0, 1]) assert.equal(await textOf(OTHER, `/api/hold${at}?go`), '0')
  assert.deepEqual(await Promise.all([...held, third]), ['held', 'held', '0'])
})

const FLOOD = `export function GET(request) {
  const { searchParams } = new URL(request.url)
  const lines = ('x'.repeat(50) + '\\n').repeat(2000)
  if (searchParams.has('flood')) setInterval(() => process.stdout.write(lines), 1)
  else console.log('own ' + searchParams.get('n'))
  return new Response('done')
}`

test('a tenant whose functions write without end loses lines, and others lose none', async (t) => {
  const { site, control } = await showTenants(t, {}, functionOf('api/log', FLOOD))
  assert.equal((await site.visit(OTHER, '/api/log?flood')).text, 'done')
  const isDropping = () =>
    control.lines.some(({ deploymentId, text }) => deploymentId === OTHER_ID && text.includes('lines were dropped'))
  await eventually(isDropping)
  for (let n = 0; n < 5; n++) assert.equal((await site.visit(SITE, `/api/log?n=${n}`)).text, 'done')
  const written = () => control.lines.filter(({ deploymentId, text }) => deploymentId === ONE_ID && text !== '')
  await eventually(() => written().length === 5)
  assert.deepEqual(
    written().map(({ text }) => text),
    [0, 1, 2, 3, 4].map((n) => `own ${n}`),
  )
  await site.stop()
})

/** Pages are compressed for clients that accept it, and the length of one reveals nothing. docs/console.md: Implementation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { acceptsGzip, zipPage } from '../../../src/platform/pages/compress.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

test('gzip is accepted by a client that names it, and not with a weight of 0', () => {
  for (const [header, takes] of [
    ['gzip', true],
    ['br;q=1.0, GZIP;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, br', false],
    ['identity', false],
    [undefined, false],
  ] as const)
    assert.equal(acceptsGzip(header), takes, String(header))
})

test('a page comes back whole, a small one is left alone, and no two of one page need have one length', async () => {
  const text = `<p>“é”</p>${'<p>a page</p>'.repeat(1000)}`
  const zipped = await Promise.all(Array.from({ length: 40 }, () => zipPage(text, 'gzip')))
  for (const one of zipped) assert.equal(gunzipSync(one!).toString(), text)
  assert.ok(new Set(zipped.map((one) => one!.length)).size > 10)
  assert.ok(zipped.every((one) => one!.length < text.length / 10))
  assert.equal(await zipPage('<p>small</p>', 'gzip'), undefined)
})

onBothEngines('a page of 1,000 variables is at most 100 KB over the wire, and the same without gzip', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const rows = Array.from({ length: 1000 }, (_, at) => ({
    key: `KEY_${at}`,
    value: `value-${at}`,
    type: 'encrypted',
    target: ['production', 'preview'],
  }))
  assert.equal((await world.call('POST', '/v10/projects/web/env', rows)).status, 201)
  const url = '/console/t/admin/projects/web/variables'
  const plain = await client.get(url)
  assert.deepEqual(
    [plain.status, plain.headers['content-encoding'], plain.headers.vary],
    [200, undefined, 'accept-encoding'],
  )
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { cookie, 'accept-encoding': 'gzip' }
  const zipped = await world.app.inject({ method: 'GET', url, headers })
  assert.equal(zipped.headers['content-encoding'], 'gzip')
  assert.ok(zipped.rawPayload.length < 100_000, String(zipped.rawPayload.length))
  const seen = gunzipSync(zipped.rawPayload).toString()
  assert.equal(seen.match(/KEY_\d+</g)?.length, plain.text.match(/KEY_\d+</g)?.length)
})

/** The OpenAPI document as it is served: made once, and as gzip to those who take it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openApiText } from '../../../src/platform/openapi/pages.ts'
import { ROUTES } from '../../../src/routes.ts'
import { openWorld } from '../../support/world.ts'

test('the document is sent as it is kept, and as gzip to those who take it', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const ask = (takes: string) => world.app.inject({ url: '/openapi.json', headers: { 'accept-encoding': takes } })
  const [whole, zipped] = [await ask('gzip;q=0'), await ask('gzip')]
  assert.equal(whole.headers['content-encoding'], undefined)
  assert.equal(whole.body, openApiText(ROUTES))
  assert.equal(zipped.headers['content-encoding'], 'gzip')
  for (const { headers } of [whole, zipped]) assert.equal(headers.vary, 'accept-encoding')
  assert.equal(gunzipSync(zipped.rawPayload).toString(), whole.body)
})

/** Visitors who do not read a page that is not kept. docs/prerendering.md: Rendering. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'

/** A page of 9 MiB for one visitor. An account may have 32 MiB of pages in memory. */
const PAGE = `export const GET = () => new Response('x'.repeat(9 * 1024 ** 2), { headers: { 'set-cookie': 'a=b' } })`
const ASK = 'GET /page HTTP/1.1\r\nhost: site.example\r\n\r\n'

test('what a visitor has not read of a page for them alone counts in the budget until they leave', async (t) => {
  const { visit, origin } = await showFunctions(t, {
    ...functionOf('page', PAGE),
    'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: false, allowQuery: [] }),
  })
  const isThrottled = async () => (await visit('/page')).headers['x-vercel-error'] === 'FUNCTION_THROTTLED'
  assert.equal(await isThrottled(), false)
  const sockets = []
  for (let at = 0; at < 3; at++) {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(ASK)
    await once(socket, 'data')
    sockets.push(socket.pause())
  }
  await eventually(isThrottled)
  const refused = await visit('/page')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1'])
  assert.match(refused.text, /Please wait/)
  for (const socket of sockets) socket.destroy()
  await eventually(async () => !(await isThrottled()))
})

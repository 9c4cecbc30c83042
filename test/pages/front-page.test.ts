/** The address that the start prints leads somewhere. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../support/world.ts'

onBothEngines(
  'a browser at the address of the start finds the way on, a program where the documents are',
  async ({ as }) => {
    const ask = as(undefined)
    const page = await ask('GET', '/', undefined, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
    const links = [...page.text.matchAll(/href="(\/[^"]*)"/g)].map(([, to]) => to!)
    assert.ok(links.includes('/docs'))
    for (const to of links) assert.ok((await ask('GET', to)).status < 400, to)
    for (const accept of ['*/*', 'application/json', undefined]) {
      const answer = await ask('GET', '/', undefined, accept === undefined ? {} : { accept })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, { name: 'berth', docs: '/docs', openapi: '/openapi.json' })
      assert.equal(answer.headers.vary, 'accept')
    }
    const icon = await ask('GET', '/favicon.ico')
    assert.deepEqual([icon.status, icon.headers['content-type']], [200, 'image/x-icon'])
    assert.equal((await ask('POST', '/')).status, 405)
  },
)

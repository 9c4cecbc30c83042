/** The address that the start prints leads somewhere. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'

onBothEngines(
  'a browser at the address of the start finds the way on, a program where the documents are',
  async ({ as }) => {
    const ask = as(undefined)
    const page = await ask('GET', '/', undefined, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    assert.deepEqual(
      [page.status, page.headers.location, page.headers.vary, page.text],
      [303, '/console', 'accept', ''],
    )
    assert.equal((await ask('GET', '/console')).headers.location, '/sign-in?return=%2Fconsole')
    for (const accept of ['*/*', 'application/json', undefined]) {
      const answer = await ask('GET', '/', undefined, accept === undefined ? {} : { accept })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, { name: 'berth', docs: '/docs', openapi: '/openapi.json' })
      assert.equal(answer.headers.vary, 'accept')
    }
    const icon = await ask('GET', '/favicon.ico')
    assert.deepEqual([icon.status, icon.headers['content-type']], [200, 'image/x-icon'])
    assert.equal((await ask.try('POST', '/')).status, 405)
  },
)

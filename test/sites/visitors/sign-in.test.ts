/** Members sign in to a protected site, and no one else is admitted. docs/edge.md: Sign-in of members. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/sites-world.ts'
import { approve, enter, HOST, openClient, openMembersOnly } from './members.ts'

onBothEngines(
  'a browser is redirected to the console and comes back signed in, to the page that it wanted; others are answered as ever',
  async (world, t) => {
    const { site, close, browser } = await openMembersOnly(world, t)
    const mine = browser()
    const led = await mine.visit(HOST, '/page.html?a=1&b=%2F')
    assert.equal(led.status, 303)
    assert.deepEqual([led.headers['cache-control'], led.headers['referrer-policy']], ['no-store', 'no-referrer'])
    const page = new URL(led.headers.location!)
    assert.equal(`${page.origin}${page.pathname}`, `${world.deps.origin()}/sites/sign-in`)
    assert.equal(page.searchParams.get('site'), `https://${HOST}`)
    assert.match(
      String(led.headers['set-cookie']),
      /^__Host-berth_site_begun=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
    )
    const stranger = openClient(world)
    const asked = await stranger.get(page.pathname + page.search)
    assert.equal(asked.status, 303)
    assert.equal(asked.location, `/sign-in?return=${encodeURIComponent(page.pathname + page.search)}`)
    const admin = await openSignedInClient(world)
    const back = await approve(admin, page.pathname + page.search)
    assert.match(back, /^\/_berth\/sign-in\?code=\w{43}$/)
    const entered = await mine.visit(HOST, back)
    assert.deepEqual([entered.status, entered.headers.location], [303, '/page.html?a=1&b=%2F'])
    assert.deepEqual(
      [entered.headers['cache-control'], entered.headers['referrer-policy']],
      ['no-store', 'no-referrer'],
    )
    const [cookie] = entered.headers['set-cookie']!
    assert.match(cookie!, /^__Host-berth_site=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure$/)
    const shown = await mine.visit(HOST, '/page.html')
    assert.deepEqual([shown.status, shown.text], [200, 'page'])
    assert.match(shown.headers['cache-control']!, /private/)
    for (const headers of [{ accept: '*/*' }, { accept: 'application/json' }, { 'sec-fetch-dest': 'iframe' }]) {
      const refused = await browser().visit(HOST, '/', headers)
      assert.deepEqual(
        [refused.status, refused.headers['x-vercel-error']],
        [403, 'NOT_ALLOWED'],
        JSON.stringify(headers),
      )
    }
    assert.equal((await browser().visit(HOST, '/', {}, 'POST')).status, 403)
    assert.equal((await browser().visit(HOST, '/', {}, 'HEAD')).status, 303)
    assert.equal(
      (await site.visit(HOST, '/', { accept: 'text/html' })).status,
      403,
      'no cookie is safe over plain http',
    )
    await enter(admin, browser(), HOST, '/')
    await close()
  },
  SETTINGS,
)

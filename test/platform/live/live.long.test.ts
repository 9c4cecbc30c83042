/** Live pages in a real Chromium: an open page shows writes from elsewhere, and keeps what its user did there. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../../support/programs.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { ENGINES, openWorld } from '../../support/world.ts'

const chromium = findChromium()
const SEE = (state: string) =>
  `Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
   document.dispatchEvent(new Event('visibilitychange'))`

for (const engine of ENGINES) {
  test(`an open page shows what is written elsewhere (a bound on time) [${engine}]`, {
    timeout: 300_000,
  }, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'pages that show what others change'))
    const world = await openWorld(engine)
    const browser = await openChromium(chromium)
    try {
      assert.equal((await world.call('POST', '/v10/projects', { name: 'web' })).status, 200)
      const origin = await world.listen()
      const client = await openSignedInClient(world)
      const home = '/console/t/admin'
      const { context, page, complaints } = await openWindow(browser, 1280, true)
      await context.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: origin })))
      const openPages = async () =>
        Number(/^berth_live_pages (\d+)$/m.exec((await world.operator('GET', '/metrics')).text)?.[1])
      const textOf = () => page.textContent('main').then((text) => text ?? '')
      const shows = (text: string) => eventually(async () => (await textOf()).includes(text))
      const add = async (key: string) => {
        const variable = { key, value: 'v', type: 'encrypted', target: ['preview'] }
        assert.equal((await world.call('POST', '/v10/projects/web/env', variable)).status, 201)
      }

      await page.goto(`${origin}${home}/projects/web/variables`)
      await eventually(async () => (await openPages()) === 1)
      await page.evaluate('window.mark = "not loaded again"')
      await add('FIRST')
      assertWithin(await shows('FIRST'), 1000)
      await add('SECOND')
      await shows('SECOND')

      // Text that is being typed is not lost, and the page follows again once it is deleted.
      await page.evaluate(
        `document.querySelector('main').insertAdjacentHTML('beforeend', '<form><input id="typing"></form>')`,
      )
      await page.fill('#typing', 'half a sentence')
      await add('THIRD')
      // The page must not refresh. Without typed text it would after a second.
      await new Promise((done) => setTimeout(done, 2500))
      assert.equal(await page.inputValue('#typing'), 'half a sentence')
      assert.ok(!(await textOf()).includes('THIRD'))
      await page.fill('#typing', '')
      await shows('THIRD')

      // Automatic requests of the page do not count as use of the session.
      const usedAt = async () => {
        const row = await world.deps.db.read.selectFrom('session').select('used_at').executeTakeFirstOrThrow()
        return row.used_at
      }
      const used = await usedAt()
      world.deps.clock.set(world.deps.clock.now() + 10 * 60_000)
      await add('UNSEEN')
      await shows('UNSEEN')
      assert.equal(await usedAt(), used)

      // A menu that is open stays open.
      await page.click('details.menu summary')
      await add('FOURTH')
      await shows('FOURTH')
      assert.equal(await page.evaluate(`document.querySelector('details.menu').open`), true)
      assert.equal(await page.evaluate('window.mark'), 'not loaded again')

      // A hidden tab costs nothing. When it is seen again, it is as the store is.
      await page.evaluate(SEE('hidden'))
      await eventually(async () => (await openPages()) === 0)
      await add('FIFTH')
      await page.evaluate(SEE('visible'))
      await shows('FIFTH')

      // The stream follows the user from page to page.
      await page.click(`nav li a[href="${home}/projects/web"]`)
      await eventually(async () => (await usedAt()) > used)
      await eventually(async () => (await page.textContent('h1')) === 'web')
      await eventually(async () => (await openPages()) === 1)
      assert.equal((await world.call('POST', '/v1/projects/web/pause', {})).status, 200)
      await shows('Resume')
      assert.equal(await page.evaluate('window.mark'), 'not loaded again')
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
      await world.close()
    }
  })
}

test('an open question stays with its own row when others add and remove rows', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'questions of pages that change'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    const team = world.credentials.teamId
    for (const name of ['grace', 'linus']) await world.join(await world.user(name), 'MEMBER')
    const origin = await world.listen()
    const client = await openSignedInClient(world)
    const { context, page, complaints } = await openWindow(browser, 390, true)
    await context.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url: origin })))
    await page.goto(`${origin}/console/t/team/members`)
    await page.getByLabel('Remove: grace…').click()
    const question = page.locator('details.twice[open]')
    const asks = async () => (await question.allInnerTexts()).map((text) => /Remove \w+ from team/.exec(text)?.[0])
    assert.deepEqual(await asks(), ['Remove grace from team'])

    const third = await world.user('third')
    await world.join(third, 'MEMBER')
    await page.getByLabel('Remove: third…').waitFor()
    assert.deepEqual(await asks(), ['Remove grace from team'])

    await world.operator('DELETE', `/operator/v1/teams/${team}/members/${third.id}`)
    await page.getByLabel('Remove: third…').waitFor({ state: 'detached' })
    assert.deepEqual(await asks(), ['Remove grace from team'])

    // The question of the member who is removed goes with its row.
    await question.getByRole('button', { name: 'Remove: grace', exact: true }).click()
    await page.getByLabel('Remove: grace…').waitFor({ state: 'detached' })
    assert.deepEqual(await asks(), [])
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
    await world.close()
  }
})

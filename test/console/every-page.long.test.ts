/**
 * Every page of the console in a real Chromium, narrow and wide, light and dark: axe finds nothing, it has one heading of the first level,
 * nothing is wider than the window, and the browser has nothing to complain about. docs/console.md: Tried in a browser.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONSOLE } from '../../src/console/screens.ts'
import { givePassword } from '../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { valuesOf } from '../support/clients/screen-values.ts'
import { lacking } from '../support/programs.ts'
import { openSamples } from '../support/sample-requests.ts'
import { openWorld } from '../support/world.ts'

const chromium = findChromium()
/** Its address is in an email. Without what the email adds it says that the link is not whole. */
const OF_AN_EMAIL = '/console/account/email'

test('axe finds nothing on any page of the table of screens', async (t) => {
  if (chromium === undefined) return t.skip(lacking('chromium', 'chromium', 'whether everybody can read every page'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    const samples = await openSamples(world)
    await givePassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    const paths = CONSOLE.filter(({ method, streams }) => method === 'GET' && !streams).map(({ path }) => path)
    let pages = 0
    for (const path of paths) {
      const known = valuesOf(path, samples)
      const address = path.replaceAll(/:(\w+)/g, (_, name: string) => known[name] ?? assert.fail(path))
      const head = await page.request.get(`${origin}${address}`)
      if (head.headers()['content-disposition'] !== undefined) continue
      const answer = await page.goto(`${origin}${address}`)
      assert.equal(answer?.status(), path === OF_AN_EMAIL ? 400 : 200, path)
      pages++
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${path}: headings of the first level`)
      for (const width of [390, 1280])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme })
          await look(page, path.replaceAll(/\W+/g, '-'), width, colorScheme)
        }
    }
    assert.ok(pages > 60, `${pages} pages`)
    // A browser says of a page that is refused that it was.
    assert.deepEqual(
      complaints.filter((one) => !one.includes('status of 400')),
      [],
    )
  } finally {
    await browser.close()
    await world.close()
  }
})

/**
 * Every page of the console in a real Chromium, narrow and wide, light and dark: axe finds nothing, it has one heading of the first level,
 * nothing moves while it is shown, nothing is wider than the window, it weighs little, and the browser has nothing to complain about. docs/console.md: Browser tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { goTo, openConsolePages } from '../support/clients/console-pages.ts'
import { COUNT_SHIFTS, MAX_BYTES, mustStandStill, weightOf } from '../support/clients/tour.ts'
import { skipReason } from '../support/programs.ts'
import { openWorld } from '../support/world.ts'

const chromium = findChromium()
/** Its address is in an email. Without what the email adds it says that the link is not whole. */
const OF_AN_EMAIL = '/console/account/email'

test('every page of the table of screens is complete, does not shift, and axe finds nothing', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether every page is accessible'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    const pages = await openConsolePages(world)
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { context, page, complaints } = await openWindow(browser, 1280, true)
    await context.addInitScript(COUNT_SHIFTS)
    await signInTo(page, origin)
    for (const { path, address } of pages) {
      // What comes late moves most where there is little room.
      await page.setViewportSize({ width: 390, height: 800 })
      assert.equal(await goTo(page, `${origin}${address}`), path === OF_AN_EMAIL ? 404 : 200, path)
      await mustStandStill(page, path)
      assert.ok((await weightOf(page)) <= MAX_BYTES, `${path} with all that it loads`)
      assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${path}: headings of the first level`)
      for (const width of [390, 1280])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme })
          await look(page, path.replaceAll(/\W+/g, '-'), width, colorScheme)
        }
    }
    // A browser says of a page that is refused that it was.
    assert.deepEqual(
      complaints.filter((one) => !one.includes('status of 404')),
      [],
    )
  } finally {
    await browser.close()
    await world.close()
  }
})

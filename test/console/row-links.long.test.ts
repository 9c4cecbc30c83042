/** A row of a table in a real Chromium: a press anywhere follows its link, and its other controls act as before. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { skipReason } from '../support/programs.ts'
import { openWorld } from '../support/world.ts'

const chromium = findChromium()
const LIST = '/console/t/admin/projects/web/variables'

for (const width of [390, 1280])
  test(`a press on a cell of a row follows its link, at ${width} pixels`, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether rows can be pressed'))
    const world = await openWorld('sqlite')
    const browser = await openChromium(chromium)
    try {
      await world.call('POST', '/v10/projects', { name: 'web' })
      await world.call('POST', '/v10/projects/web/env', { key: 'KEY', value: 'the value', target: ['preview'] })
      await seedPassword(world, world.credentials.userId)
      const origin = await world.listen()
      const { page, complaints } = await openWindow(browser, width, true)
      await signInTo(page, origin)
      await page.goto(`${origin}${LIST}`)
      const row = page.locator('tbody tr')
      await row.getByRole('link', { name: 'Reveal KEY' }).click()
      await row.getByText('the value').waitFor()
      await row.locator('summary').click()
      await row.getByRole('link', { name: 'History', exact: true }).click()
      await page.waitForURL(/\/history$/)
      await page.goto(`${origin}${LIST}`)
      // The cell of the environments has no control of its own.
      const cell = (await row.locator('td').nth(1).boundingBox())!
      await page.mouse.click(cell.x + 2, cell.y + cell.height / 2)
      await page.waitForURL(/\/edit$/)
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
      await world.close()
    }
  })

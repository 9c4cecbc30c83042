/** The keys of the console in a real Chromium: `?` lists them, and `g` with a letter opens a section. docs/console.md: Keyboard navigation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { skipReason } from '../support/programs.ts'
import { seedProject } from '../support/projects.ts'
import { openWorld } from '../support/world.ts'

const chromium = findChromium()
const ACCOUNT = '/console/t/admin'

test('keys open sections and a list of the keys, and do nothing in a field', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'what the keys do'))
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  await seedPassword(world, world.credentials.userId)
  await seedProject(world, 'web')
  const { code } = (await world.call('POST', '/projects/web/transfer-request', {})).body
  const origin = await world.listen()
  const browser = await openChromium(chromium)
  t.after(() => browser.close())
  for (const width of [390, 1440])
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, complaints, context } = await openWindow(browser, width, true)
      await page.emulateMedia({ colorScheme })
      await signInTo(page, origin)
      const at = (path: string) => page.waitForURL(`${origin}${path}`)
      await page.goto(`${origin}${ACCOUNT}/projects/web`)
      await page.keyboard.press('g')
      await page.keyboard.press('d')
      await at(`${ACCOUNT}/projects/web/domains`)
      await look(page, 'no-domains', width, colorScheme)
      await page.keyboard.press('?')
      await page.locator('dialog.keys').waitFor()
      assert.match(await page.locator('dialog.keys').innerText(), /Domains\s+g\s+d/)
      await look(page, 'keys', width, colorScheme)
      await page.keyboard.press('Escape')
      await page.locator('dialog.keys').waitFor({ state: 'detached' })
      await page.keyboard.press('g')
      await page.keyboard.press('p')
      await at(ACCOUNT)
      await page.goto(`${origin}/console/t/team/receive`)
      await page.locator('#code').fill('')
      await page.locator('#code').pressSequentially('g?')
      assert.equal(await page.locator('#code').inputValue(), 'g?')
      assert.equal(await page.locator('dialog').count(), 0)
      await page.locator('#code').fill(code)
      await page.getByRole('button', { name: 'Review the transfer' }).click()
      await page.getByRole('heading', { name: 'Accept web into team?' }).waitFor()
      await look(page, 'review', width, colorScheme)
      await page.goto(`${origin}/console/t/team`)
      await look(page, 'no-projects', width, colorScheme)
      await page.goto(`${origin}/console/t/team/settings`)
      await look(page, 'team-settings', width, colorScheme)
      assert.deepEqual(complaints, [])
      await context.close()
    }
})

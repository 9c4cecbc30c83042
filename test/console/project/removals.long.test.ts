/** Choosing deployments of a list and removing them, in a real Chromium. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../../support/clients/chromium.ts'
import { skipReason } from '../../support/programs.ts'
import { openWorld } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const chromium = findChromium()
const WEB = '/console/t/admin/projects/web'

test('deployments are chosen in their list and removed; the button is there while one is chosen', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'how deployments are chosen'))
  const world = await openWorld('sqlite', SETTINGS)
  t.after(() => world.close())
  await seedPassword(world, world.credentials.userId)
  const web = await seedWebProject(world)
  const meta = { githubCommitRef: 'header', githubCommitMessage: 'Repair the header of all pages' }
  for (let at = 0; at < 5; at++) await web.deploy({ target: 'preview', ...(at % 2 === 0 && { meta }) })
  await web.deploy()
  const origin = await world.listen()
  const browser = await openChromium(chromium)
  t.after(() => browser.close())
  let left = 5
  const windows = [
    [390, 'dark'],
    [1440, 'light'],
  ] as const
  for (const [width, colorScheme] of windows) {
    const { page, complaints, context } = await openWindow(browser, width, true)
    await page.emulateMedia({ colorScheme })
    await signInTo(page, origin)
    await page.goto(`${origin}${WEB}/deployments`)
    const boxes = page.getByRole('checkbox', { name: /^Choose / })
    const button = page.getByRole('button', { name: 'Remove chosen…' })
    assert.deepEqual([await boxes.count(), await button.isVisible()], [left, false])
    await boxes.nth(0).check()
    await boxes.nth(1).press(' ')
    await button.waitFor()
    await page.keyboard.press('j')
    assert.equal(await page.evaluate(`document.activeElement.className`), 'to medium')
    await look(page, 'chosen', width, colorScheme)
    await button.click()
    await page.getByRole('heading', { name: 'Remove 2 deployments?' }).waitFor()
    await look(page, 'removals', width, colorScheme)
    await page.getByRole('button', { name: 'Remove 2 deployments' }).click()
    await page.getByText('2 deployments are removed.').waitFor()
    left -= 2
    assert.equal(await boxes.count(), left)
    assert.deepEqual(complaints, [])
    await context.close()
  }
})

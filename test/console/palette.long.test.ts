/** The palette and cards of the console in a real Chromium: what Enter opens while the answer is awaited, and that all is in the window. docs/console.md: Keyboard navigation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { skipReason } from '../support/programs.ts'
import { seedDeployment, seedProject } from '../support/projects.ts'
import { openWorld } from '../support/world.ts'

const chromium = findChromium()
const ACCOUNT = '/console/t/admin'
const BRANCH = `feature/${'wishlist-'.repeat(6)}`
/** Elements of a page that reach beyond the card, the dialog or the window that they are in. */
const OUTSIDE = `[...document.querySelectorAll('.card :not(thead, thead *), dialog')].filter((one) => {
  const within = one.closest('.card')?.getBoundingClientRect() ?? { right: innerWidth, bottom: innerHeight }
  const { right, bottom, width } = one.getBoundingClientRect()
  return width > 1 && (right > within.right + 1 || bottom > within.bottom + 1)
}).map((one) => one.outerHTML.slice(0, 120))`

test('Enter waits for the answer of the server, and a long branch or hash stays in its card', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'what Enter opens'))
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  await seedPassword(world, world.credentials.userId)
  const id = await seedProject(world, 'shared-web')
  const failed = {
    url: 'web-1.deployments.example.com',
    target: 'preview',
    readyState: 'ERROR',
    gitBranch: BRANCH,
    meta: { commitSha: 'c3d1'.repeat(24) },
  }
  const deployment = await seedDeployment(world, id, failed)
  const origin = await world.listen()
  const browser = await openChromium(chromium)
  t.after(() => browser.close())
  for (const width of [390, 1440]) {
    const { page, complaints, context } = await openWindow(browser, width, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${ACCOUNT}`)
    assert.deepEqual(await page.evaluate(OUTSIDE), [])
    await look(page, 'long-branch', width, 'light')
    const { promise: asked, resolve: answer } = Promise.withResolvers<void>()
    await page.route('**/console/search?*', async (route) => {
      await asked
      await route.continue()
    })
    await page.keyboard.press('/')
    assert.deepEqual(await page.evaluate(OUTSIDE), [], 'the palette')
    await page.keyboard.type('shared')
    await page.getByText('Searching…').waitFor()
    await page.getByRole('option', { name: 'Shared variables' }).waitFor()
    await page.keyboard.press('Enter')
    answer()
    await page.waitForURL(`${origin}${ACCOUNT}/projects/shared-web`)
    // A section of the account, from within a project.
    await page.keyboard.press('/')
    await page.keyboard.type('webhooks')
    await page.getByRole('option', { name: 'Webhooks' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}${ACCOUNT}/webhooks`)
    await page.goto(`${origin}${ACCOUNT}/projects/shared-web/deployments/${deployment}`)
    assert.deepEqual(await page.evaluate(OUTSIDE), [])
    assert.deepEqual(complaints, [])
    await context.close()
  }
})

/** The pages that need no session, in a real Chromium: axe finds nothing, and nothing is wider than the window, by day and by night. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import axe from 'axe-core'
import { findChromium, openChromium, openWindow } from '../../support/clients/chromium.ts'
import { skipReason } from '../../support/programs.ts'
import { openWorld } from '../../support/world.ts'

const chromium = findChromium()
const SCREENSHOTS = process.env.BERTH_SCREENSHOTS
const PAGES: Record<string, string> = {
  docs: '/docs',
  'docs-found': '/docs?search=env+create',
  'docs-nothing': '/docs?search=nothing+at+all',
  'docs-operation': '/docs/createProject',
  'docs-command': '/docs/operatorCreateDeployment',
  'docs-event': '/docs/project.domain.updated',
  'sign-in': '/console',
}
const OPENED = `document.querySelectorAll('details').forEach((one) => { one.open = true })`
const FOUND = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`

test('axe finds nothing on the public pages, narrow and wide, light and dark', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether all users can read the pages'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    const origin = await world.listen()
    for (const width of [390, 1280])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { context, page, complaints } = await openWindow(browser, width, true)
        await page.emulateMedia({ colorScheme })
        for (const [name, path] of Object.entries(PAGES)) {
          await page.goto(`${origin}${path}`)
          await page.evaluate(OPENED)
          await page.evaluate(axe.source)
          assert.deepEqual(await page.evaluate<string[]>(FOUND), [], `${path} ${width} ${colorScheme}`)
          const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
          assert.ok(wide <= width, `${path} is ${wide} wide in a window of ${width}`)
          if (SCREENSHOTS === undefined) continue
          mkdirSync(SCREENSHOTS, { recursive: true })
          const file = `${name}-${width}-${colorScheme}.png`
          await page.screenshot({ path: join(SCREENSHOTS, file), fullPage: name !== 'docs' })
        }
        assert.deepEqual(complaints, [])
        await context.close()
      }
  } finally {
    await browser.close()
    await world.close()
  }
})

test('the reference is searched and read without script, and asks no other host', async (t) => {
  if (chromium === undefined)
    return t.skip(skipReason('chromium', 'chromium', 'whether the reference works without script'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    const origin = await world.listen()
    const { page, complaints, asked } = await openWindow(browser, 1280)
    await page.goto(`${origin}/docs`)
    await page.getByRole('searchbox').fill('pause project')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Pause a project', exact: true }).click()
    const call = page.getByText('await berth.projects.pauseProject(')
    const command = page.getByText('curl -X POST')
    assert.deepEqual([await command.isVisible(), await call.isVisible()], [true, false])
    await page.getByText('TypeScript SDK', { exact: true }).click()
    assert.deepEqual([await command.isVisible(), await call.isVisible()], [false, true])
    assert.deepEqual([...asked], [origin])
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
    await world.close()
  }
})

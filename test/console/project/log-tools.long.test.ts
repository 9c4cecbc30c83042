/** The tools of a build log in a real Chromium: search, "Errors only", follow and copy. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUILDS, createSource, openRunners } from '../../delivery/builds/building.ts'
import { seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow, signInTo } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../../support/programs.ts'
import { openWorld } from '../../support/world.ts'

const chromium = findChromium()
const FIRST = ['Installing packages', 'error: no such module', 'Compiled index.js', 'compiled about.js']
/** Whether the end of the log is within the window. */
const IS_AT_END = `document.querySelector('.log li:last-child').getBoundingClientRect().bottom <= innerHeight`

test('the log of a build is searched, narrowed to errors, copied and followed', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether the tools of a log work'))
  const world = await openWorld('sqlite', BUILDS)
  const browser = await openChromium(chromium)
  const runners = await openRunners(world)
  try {
    await world.call('POST', '/v10/projects', { name: 'web' })
    const { id } = await createSource(world, { target: 'production' })
    const build = runners.of(await runners.take())
    await build.log(0, ...FIRST)
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, 1280, true)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
    await signInTo(page, origin)
    await page.goto(`${origin}/console/t/admin/projects/web/deployments/${id}`)
    const lines = async () => (await page.locator('.log li:visible > span').allInnerTexts()).map((text) => text.trim())
    const copied = async () => {
      await page.getByRole('button', { name: 'Copy', exact: true }).click()
      await page.getByRole('button', { name: 'Copied', exact: true }).waitFor()
      return page.evaluate<string>('navigator.clipboard.readText()')
    }
    assert.deepEqual(await lines(), FIRST)

    const search = page.getByRole('searchbox', { name: 'Search the log' })
    await search.fill('COMPILED')
    assert.deepEqual(await lines(), FIRST.slice(2))
    assert.equal(await copied(), FIRST.slice(2).join('\n'), 'what is seen is copied')
    await build.log(FIRST.length, 'compiled contact.js', 'Optimizing')
    await eventually(async () => (await lines()).includes('compiled contact.js'))
    assert.deepEqual(await lines(), [...FIRST.slice(2), 'compiled contact.js'], 'later lines are searched too')

    await search.fill('')
    await page.getByRole('checkbox', { name: /^Errors only/ }).check()
    assert.deepEqual(await lines(), [FIRST[1]])
    await page.getByRole('checkbox', { name: /^Errors only/ }).uncheck()

    const follow = page.getByRole('checkbox', { name: 'Follow' })
    const many = (from: number) => Array.from({ length: 60 }, (_, at) => `line ${from + at}`)
    await build.log(6, ...many(6))
    await page.getByText('line 65', { exact: true }).waitFor()
    await eventually(() => page.evaluate<boolean>(IS_AT_END))
    await follow.uncheck()
    await build.log(66, ...many(66))
    await page.getByText('line 125', { exact: true }).waitFor()
    assert.equal(await page.evaluate(IS_AT_END), false, 'a user reads what is above')
    assert.deepEqual(complaints, [])
  } finally {
    await runners.close()
    await browser.close()
    await world.close()
  }
})

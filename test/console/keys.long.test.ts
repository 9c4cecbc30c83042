/** The keys of the console in a real Chromium: `?` lists them, `g` with a letter opens a section, and `j` and `k` move in lists. docs/console.md: Keyboard navigation. */
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

const FOCUSED = 'document.activeElement.textContent.trim()'

test('j and k move the focus in the lists of a page, from row to row, and Enter opens a row', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'what the keys do'))
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  await seedPassword(world, world.credentials.userId)
  for (const name of ['one', 'two', 'three']) await seedProject(world, name)
  for (const key of ['A', 'B'])
    await world.call('POST', '/v10/projects/one/env', { key, value: '1', target: ['preview'] })
  const origin = await world.listen()
  const browser = await openChromium(chromium)
  t.after(() => browser.close())
  const { page, complaints } = await openWindow(browser, 1440, true)
  await signInTo(page, origin)
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
    return page.evaluate<string>(FOCUSED)
  }
  await page.goto(`${origin}${ACCOUNT}`)
  const names = await page.locator('.grid .to').allInnerTexts()
  assert.deepEqual([names.length, await press('j')], [3, names[0]])
  assert.deepEqual([await press('j'), await press('k'), await press('k')], [names[1], names[0], names[0]])
  assert.deepEqual([await press('j', 'j', 'j', 'j'), await press('k')], [names[2], names[1]])
  assert.equal(await press('ArrowDown'), names[1], 'arrows scroll the page')
  await page.keyboard.press('?')
  assert.match(await page.locator('dialog.keys').innerText(), /In a list[\s\S]*Next row\s+j/)
  await page.keyboard.press('j')
  await page.keyboard.press('Escape')
  await page.locator('dialog.keys').waitFor({ state: 'detached' })
  assert.equal(await press('j', 'k', 'k', 'k'), names[0])
  await page.keyboard.press('Enter')
  await page.waitForURL(`${origin}${ACCOUNT}/projects/${names[0]}`)
  await page.goto(`${origin}${ACCOUNT}/projects/one/variables`)
  await page.getByRole('heading', { name: 'Variables', exact: true }).waitFor()
  const first = await press('j')
  assert.notEqual(await press('j'), first, 'a table has rows too')
  await page.goto(`${origin}${ACCOUNT}`)
  await press('j', 'g')
  assert.equal(await press('j'), names[0], 'after `g` it is a letter of a section')
  await page.goto(`${origin}${ACCOUNT}/new`)
  await page.locator('#name').pressSequentially('jk')
  assert.equal(await page.locator('#name').inputValue(), 'jk')
  assert.deepEqual(complaints, [])
})

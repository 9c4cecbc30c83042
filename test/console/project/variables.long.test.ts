/** Variables in a real Chromium: a pasted block, and values in their rows. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow, signInTo } from '../../support/clients/chromium.ts'
import { skipReason } from '../../support/programs.ts'
import { openWorld } from '../../support/world.ts'

const chromium = findChromium()
const LIST = '/console/t/admin/projects/web/variables'

const PASTED = (text: string) => `(() => {
  const clipboardData = new DataTransfer()
  clipboardData.setData('text/plain', ${JSON.stringify(text)})
  const key = document.getElementById('key')
  return key.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
})()`

test('ten variables are one paste into the key and three clicks; one pair is split, and a plain key is pasted as ever', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether a block can be pasted'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    await world.call('POST', '/v10/projects', { name: 'web' })
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${LIST}`)
    await page.click('text=Add variable')
    await page.waitForSelector('#key')
    assert.equal(await page.evaluate(PASTED('PLAIN_KEY')), true, 'the browser pastes it')
    assert.equal(await page.evaluate(PASTED('ONE=https://example.com/?a=b')), false)
    assert.deepEqual(
      [await page.inputValue('#key'), await page.inputValue('#value')],
      ['ONE', 'https://example.com/?a=b'],
    )
    await page.fill('#key', '')
    await page.fill('#value', '')
    const lines = Array.from({ length: 10 }, (_, at) => `KEY_${at}="value ${at}"`)
    assert.equal(await page.evaluate(PASTED(lines.join('\n'))), false)
    assert.deepEqual([await page.inputValue('#key'), await page.inputValue('#value')], ['', lines.join('\n')])
    await page.getByRole('button', { name: 'Add variable' }).click()
    await page.getByRole('button', { name: 'Apply 10 changes' }).click()
    await page.waitForURL(`${origin}${LIST}`)
    const { env } = (await world.call('GET', '/v3/env/pull/web/production')).body
    assert.deepEqual([Object.keys(env).length, env.KEY_9], [10, 'value 9'])
    assert.deepEqual(
      complaints.filter((one) => !one.includes('status of 400')),
      [],
    )
  } finally {
    await browser.close()
    await world.close()
  }
})

test('an old sign-in leads from a row to the password, and what cannot be revealed any more is said', async (t) => {
  if (chromium === undefined)
    return t.skip(skipReason('chromium', 'chromium', 'whether a value in a row asks for the password'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    await world.call('POST', '/v10/projects', {
      name: 'web',
      environmentVariables: [{ key: 'DATABASE_URL', value: 'postgres://one', target: 'preview' }],
    })
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${LIST}`)
    await page.getByRole('link', { name: 'Reveal DATABASE_URL' }).first().press('Enter')
    const shown = page.locator('td turbo-frame pre')
    await shown.waitFor()
    assert.equal(await page.evaluate(`document.activeElement.localName`), 'turbo-frame', 'the focus goes to the value')
    await page.goto(`${origin}${LIST}`)
    await page.evaluate(`document.querySelector('td turbo-frame a').setAttribute('href', '${LIST}/env_gone')`)
    await page.getByRole('link', { name: 'Reveal DATABASE_URL' }).click()
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
    await page.goto(`${origin}${LIST}`)
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    await page.getByRole('link', { name: 'Reveal DATABASE_URL' }).click()
    await page.waitForURL(/\/confirm\?return=/)
  } finally {
    await browser.close()
    await world.close()
  }
})

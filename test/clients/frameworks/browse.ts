/** An app of a framework in a real browser. docs/frameworks.md. */
import assert from 'node:assert/strict'
import { openChromium, openWindow } from '../../support/clients/chromium.ts'
import type { Site } from './visits.ts'

/** Follows links without loading pages again, and sends a form with and without a word. */
export async function browse(executable: string, { host, port }: Site, title: string): Promise<void> {
  const browser = await openChromium(executable)
  try {
    const { page, complaints } = await openWindow(browser, 800, true)
    await page.goto(`http://${host}:${port}/`, { waitUntil: 'networkidle' })
    await page.evaluate('window.stays = true')
    await page.click('a:text-is("live")')
    await page.waitForSelector(`h1:text-is("${title}")`)
    await page.click('a:text-is("form")')
    await page.waitForSelector('h1:text-is("said nothing")')
    await page.click('button')
    await page.waitForSelector('text=a word is missing')
    await page.fill('input[name=word]', 'hello')
    await page.click('button')
    await page.waitForSelector('h1:text-is("said hello")')
    assert.equal(await page.evaluate('window.stays'), true)
    assert.deepEqual(
      complaints.filter((one) => !one.includes('400')),
      [],
    )
  } finally {
    await browser.close()
  }
}

/** A real Chromium for tests, and what it complains about. Without one, the test prints a notice and is skipped. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { EVENTUALLY_TIMEOUT_MS } from '../eventually.ts'
import { PASSWORD } from './browser-client.ts'

/** Where Chromium is; undefined on a machine without it. */
export function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))
}

/** `words`: further arguments of its command line. */
export async function openChromium(executablePath: string, ...words: string[]): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...words] })
}

export type Window = { context: BrowserContext; page: Page; complaints: string[]; asked: Set<string> }

/** A new window: own cookies, no script, and a list of all errors and of all requests to other hosts. */
export async function openWindow(browser: Browser, width: number, script = false): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    javaScriptEnabled: script,
    locale: 'en-GB',
    // A color on its way from light to dark has the contrast of neither.
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(EVENTUALLY_TIMEOUT_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  const asked = new Set<string>()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  context.on('request', (request) => asked.add(new URL(request.url()).origin))
  return { context, page, complaints, asked }
}

export type Site = { origin: string; port: number; close(): Promise<void> }

/** A web server of another origin. */
export async function openSite(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<Site> {
  const server = createServer((request, response) => {
    Promise.resolve(answer(request, response)).catch((error) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { origin: `http://127.0.0.1:${port}`, port, close }
}

const SCREENSHOTS = process.env.BERTH_SCREENSHOTS
const FOUND = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`

/** axe finds nothing on the page that is open, and it is not wider than its window. `BERTH_SCREENSHOTS`: the folder of a picture of it. */
export async function look(page: Page, name: string, width: number, colorScheme: string): Promise<void> {
  await page.evaluate(`document.querySelectorAll('main details').forEach((one) => { one.open = true })`)
  await page.evaluate(axe.source)
  const about = `${name} ${width} ${colorScheme}`
  assert.deepEqual(await page.evaluate<string[]>(FOUND), [], about)
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.ok(wide <= width, `${about} is ${wide} wide`)
  if (SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`), fullPage: true })
}

/** Signs the first user in with their password (`seedPassword`). */
export async function signInTo(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/sign-in`)
  await page.fill('input[name=name]', 'admin')
  await page.fill('input[name=password]', PASSWORD)
  await page.click('main button')
  await page.waitForURL(`${origin}/console/**`)
}

/** A real Chromium for tests, and what it complains about. Where there is none, the test says so loudly and is skipped. */
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** Where Chromium is; undefined on a machine without it. */
export function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))
}

export async function openChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

export type Window = { context: BrowserContext; page: Page; complaints: string[]; asked: Set<string> }

/** A window of its own: own cookies, no script, and a list of everything that went wrong or was asked of another host. */
export async function openWindow(browser: Browser, width: number, script = false): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    javaScriptEnabled: script,
    locale: 'en-GB',
  })
  context.setDefaultTimeout(15_000)
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

/** A web server of somebody else. */
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

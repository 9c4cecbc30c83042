/**
 * A walk through the console in a real Chromium, over https: what is seen of every page on the way. `look` says that the page is whole;
 * what every page of the walk sent is kept, and is searched for secrets at its end. docs/console.md: Tried in a browser.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page, Response } from 'playwright-core'

const FOUND = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`
/** From now on: that Turbo puts another page in the place of one is no shift, and on a slow machine it comes late after the click. */
const SHIFT = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value }).observe({ type: 'layout-shift' })
  setTimeout(() => resolve(sum), 300)
})`
const MOST_BYTES = 200 * 1024
const SCREENSHOTS = process.env.BERTH_SCREENSHOTS

/** What a page was sent, and where it was asked. */
type Sent = { path: string; body: string; policy: string }

export type Tour = {
  origin: string
  /** Whether script runs in the windows of this tour. */
  script: boolean
  page: Page
  /** Goes to a path of the service. */
  go(path: string): Promise<void>
  /** Presses a button of the page and waits for the page that follows. */
  press(name: string | RegExp): Promise<void>
  /** Follows a link of the page. */
  follow(name: string | RegExp): Promise<void>
  fill(fields: Record<string, string>): Promise<void>
  /** The page is whole: axe finds nothing, narrow and wide, by day and by night, and nothing moved. `picture`: it is kept in docs/images where pictures are taken. */
  look(name: string, picture?: true): Promise<void>
  /** A text that is shown on pages whose path has this, and on no other. */
  secret(value: string, shownAt: RegExp): void
  /** Another person, with cookies of their own. */
  as(run: (tour: Tour) => Promise<void>): Promise<void>
  /** What is true of all pages of the walk. */
  end(): void
}

type Options = { script: boolean; axe: boolean; pictures: boolean }

/** Opens the window of a person at a service. */
export async function openTour(browser: Browser, origin: string, options: Options): Promise<Tour> {
  const sent: Sent[] = []
  const secrets = new Map<string, RegExp>()
  const complaints: string[] = []
  return openPerson(browser, origin, options, { sent, secrets, complaints, seen: new Set() })
}

type Kept = { sent: Sent[]; secrets: Map<string, RegExp>; complaints: string[]; seen: Set<string> }

async function openPerson(browser: Browser, origin: string, options: Options, kept: Kept): Promise<Tour> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    javaScriptEnabled: options.script,
    ignoreHTTPSErrors: true,
    locale: 'en-GB',
  })
  context.setDefaultTimeout(20_000)
  const page = await context.newPage()
  const reading = keepSent(context, page, origin, kept)
  const settle = async (act: () => Promise<unknown>) => {
    const before = kept.sent.length
    await act()
    await page.waitForLoadState('load')
    for (let tries = 0; tries < 200 && kept.sent.length === before; tries++) await page.waitForTimeout(25)
    await Promise.all(reading)
    await page.waitForLoadState('load')
    // Turbo shows what it fetched a moment later, and says so.
    for (let tries = 0; options.script && tries < 200 && (await isBusy(page)); tries++) await page.waitForTimeout(25)
  }
  return {
    origin,
    script: options.script,
    page,
    go: (path) => settle(() => page.goto(`${origin}${path}`)),
    press: (name) =>
      settle(() =>
        page
          .getByRole('main')
          .getByRole('button', { name, exact: typeof name === 'string' })
          .first()
          .click(),
      ),
    follow: (name) =>
      settle(() =>
        page
          .getByRole('link', { name, exact: typeof name === 'string' })
          .first()
          .click(),
      ),
    fill: async (fields) => {
      for (const [name, value] of Object.entries(fields))
        await page.locator(`main [name="${name}"]`).first().fill(value)
    },
    look: (name, picture) => look(page, name, picture === true, options, kept),
    secret: (value, shownAt) => void kept.secrets.set(value, shownAt),
    as: async (run) => {
      const other = await openPerson(browser, origin, options, kept)
      await run(other)
      await other.page.context().close()
    },
    end: () => mustHold(kept),
  }
}

/** Whether Turbo waits for an answer. A page that goes meanwhile is busy too. `waitForFunction` would need `unsafe-eval`. */
async function isBusy(page: Page): Promise<boolean> {
  const busy = page.evaluate<boolean>("document.querySelector('html[aria-busy], form[aria-busy]') !== null")
  return busy.catch(() => true)
}

/** Keeps every page that the service sent to the window, whether it was loaded or fetched by Turbo. */
function keepSent(context: BrowserContext, page: Page, origin: string, { sent, complaints }: Kept): Promise<void>[] {
  const reading: Promise<void>[] = []
  const read = async (response: Response) => {
    const headers = response.headers()
    if (!response.url().startsWith(origin) || !headers['content-type']?.startsWith('text/html')) return
    if (response.status() >= 300 && response.status() < 400) return
    const body = await response.text().catch(() => '')
    sent.push({ path: response.url().slice(origin.length), body, policy: headers['content-security-policy'] ?? '' })
  }
  context.on('response', (response) => void reading.push(read(response)))
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // A browser says of each refused form that it was.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  return reading
}

async function look(page: Page, name: string, picture: boolean, options: Options, { seen }: Kept): Promise<void> {
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${name} has one heading of the page`)
  if (!options.script) return
  assert.ok((await page.evaluate<number>(SHIFT)) < 0.01, `${name} moves while it is shown`)
  if (!options.axe || seen.has(name)) return
  seen.add(name)
  await page.evaluate(axe.source)
  for (const width of [390, 1280])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      const about = `${name} ${width} ${colorScheme}`
      assert.deepEqual(await page.evaluate<string[]>(FOUND), [], about)
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width, `${about} is too wide`)
      if (!picture || !options.pictures || SCREENSHOTS === undefined || width !== 1280 || colorScheme !== 'light')
        continue
      mkdirSync(SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: join(SCREENSHOTS, `console-${name}.png`) })
    }
  await page.emulateMedia({ colorScheme: null })
}

function mustHold({ sent, secrets, complaints }: Kept): void {
  assert.deepEqual(complaints, [], 'what the browser complained about')
  assert.ok(sent.length > 10, `${sent.length} pages`)
  for (const { path, body, policy } of sent) {
    assert.ok(policy !== '' && !policy.includes('unsafe-'), `${path}: ${policy}`)
    assert.ok(body.length < MOST_BYTES / 2, `${path} has ${body.length} bytes`)
    for (const [secret, shownAt] of secrets)
      assert.ok(!body.includes(secret) || shownAt.test(path), `${path} shows a secret`)
  }
}

/** What stylesheet and scripts of a page weigh together as they are sent, in bytes. */
export async function weightOf(page: Page): Promise<number> {
  return page.evaluate<number>(
    `performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, performance.getEntriesByType('navigation')[0].encodedBodySize)`,
  )
}

export { MOST_BYTES }

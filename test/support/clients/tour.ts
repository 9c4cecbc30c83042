/**
 * A walk through the console in a real Chromium, over https: what is seen of every page on the way. `look` says that the page is whole;
 * what every page of the walk sent is kept, and is searched for secrets at its end. docs/console.md: Browser tests.
 */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContext, Locator, Page, Response } from 'playwright-core'
import { EVENTUALLY_TIMEOUT_MS, eventually } from '../eventually.ts'

const FOUND = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`
/**
 * Counts what moves on a page, from each load on, and from the first picture on of a page that Turbo puts in the place of another: that one page takes the
 * place of another is not a shift. The page's policy does not apply, since the debugger of the browser adds the script.
 */
export const COUNT_SHIFTS = `{
  let shifts = []
  let since = 0
  const keep = (list) => shifts.push(...list.filter((one) => !one.hadRecentInput))
  const observer = new PerformanceObserver((list) => keep(list.getEntries()))
  observer.observe({ type: 'layout-shift', buffered: true })
  const begin = () => { since = performance.now(); shifts = []; observer.takeRecords() }
  document.addEventListener('turbo:render', () => { since = Infinity; requestAnimationFrame(() => requestAnimationFrame(begin)) })
  window.berthShifts = {
    begin,
    stands: () => since !== Infinity && document.readyState === 'complete',
    told: () => { keep(observer.takeRecords()); return shifts.filter((one) => one.startTime >= since).map(({ value, sources }) => ({ value, moved: sources.map(({ node }) => node?.outerHTML?.slice(0, 100)).join(' | ') })) },
  }
}`
/**
 * Marks navigation. Turbo calls a form busy until its response begins, and shows the response later. A page that is
 * left by a load stays until the next one is there. Nothing else reveals either.
 */
const NOTE_SENDING = `{
  document.addEventListener('turbo:submit-start', () => { window.berthSends = true })
  document.addEventListener('turbo:render', () => { window.berthSends = false })
  window.addEventListener('beforeunload', () => { window.berthSends = true })
}`
/** What comes late, such as an image or a script, has come by then. */
const STANDS_MS = 300
/** A tenth of the browsers' limit for a good page (cumulative layout shift). */
const MAX_SHIFT = 0.01
const MAX_BYTES = 200 * 1024
const SCREENSHOTS = process.env.BERTH_SCREENSHOTS

/** A response body, and its path. */
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
  /** Presses a button that needs a confirmation, which is hidden until the first press. */
  pressTwice(name: string): Promise<void>
  /** Follows a link of the page. */
  follow(name: string | RegExp): Promise<void>
  fill(fields: Record<string, string>): Promise<void>
  /** Presses Enter in a field and waits for the page that follows. */
  submit(field: Locator): Promise<void>
  /** Checks the page: axe finds nothing, narrow and wide, light and dark, and nothing shifted. `picture`: stored in docs/images on request. */
  look(name: string, picture?: true): Promise<void>
  /** How many pages that contain a text were sent to any user on this tour. */
  pagesWith(text: string): number
  /** A text that is shown on pages whose path has this, and on no other. */
  secret(value: string, shownAt: RegExp): void
  /** The window of another user, with cookies of their own. It stays open. */
  another(): Promise<Tour>
  /** What is true of all pages of the walk. */
  end(): void
}

type Options = { script: boolean; axe: boolean; pictures: boolean }

/** Opens the window of a user at a service. */
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
    // Colors are measured right after the scheme changes.
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(EVENTUALLY_TIMEOUT_MS)
  await context.addInitScript(COUNT_SHIFTS)
  await context.addInitScript(NOTE_SENDING)
  const page = await context.newPage()
  const reading = keepSent(context, page, origin, kept)
  const settle = async (act: () => Promise<unknown>) => {
    const before = kept.sent.length
    // Without script every page is loaded. Until then the former one still looks complete.
    await Promise.all([options.script ? undefined : page.waitForEvent('load'), act()])
    await eventually(() => kept.sent.length > before)
    await Promise.all(reading)
    if (options.script) await eventually(async () => !(await isBusy(page)))
  }
  return {
    origin,
    script: options.script,
    page,
    go: (path) => settle(() => page.goto(`${origin}${path}`)),
    press: (name) => settle(() => buttonOf(page, name).click()),
    async pressTwice(name) {
      assert.equal(await buttonOf(page, name).count(), 0, `${name} acts at one press`)
      await page
        .locator('main details.twice > summary', { hasText: `${name}…` })
        .first()
        .click()
      await settle(() => buttonOf(page, name).click())
    },
    follow: (name) =>
      settle(() =>
        page
          .getByRole('link', { name, exact: typeof name === 'string' })
          .first()
          .click(),
      ),
    submit: (field) => settle(() => field.press('Enter')),
    fill: async (fields) => {
      for (const [name, value] of Object.entries(fields))
        await page.locator(`main [name="${name}"]`).first().fill(value)
    },
    look: (name, picture) => look(page, name, picture === true, options, kept),
    secret: (value, shownAt) => void kept.secrets.set(value, shownAt),
    pagesWith: (text) => kept.sent.filter(({ body }) => body.includes(text)).length,
    another: () => openPerson(browser, origin, options, kept),
    end: () => mustHold(kept),
  }
}

/** A button that can be seen. */
function buttonOf(page: Page, name: string | RegExp): Locator {
  return page
    .getByRole('main')
    .getByRole('button', { name, exact: typeof name === 'string' })
    .first()
}

/**
 * Whether the page waits for an answer, or has it and does not show it yet. A page that goes meanwhile is busy too. `waitForFunction` would
 * need `unsafe-eval`.
 */
async function isBusy(page: Page): Promise<boolean> {
  const busy =
    "window.berthSends || document.readyState !== 'complete' || document.querySelector('[aria-busy=true]') !== null"
  return page.evaluate<boolean>(busy).catch(() => true)
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
    // A browser logs each refused form.
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
      complaints.push(`${page.url()}: ${message.text()}`)
  })
  return reading
}

/** Nothing has moved on the page since it is there. */
export async function mustStandStill(page: Page, name: string): Promise<void> {
  await eventually(() => page.evaluate<boolean>('berthShifts.stands()'))
  await page.waitForTimeout(STANDS_MS)
  const shifts = await page.evaluate<{ value: number; moved: string }[]>('berthShifts.told()')
  const sum = shifts.reduce((total, { value }) => total + value, 0)
  assert.ok(sum < MAX_SHIFT, `${name} moves while it is shown: ${JSON.stringify(shifts)}`)
}

async function look(page: Page, name: string, picture: boolean, options: Options, { seen }: Kept): Promise<void> {
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${name} has one heading of the page`)
  if (!options.script) return
  await mustStandStill(page, name)
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
  // The other widths moved it.
  await page.evaluate('requestAnimationFrame(() => berthShifts.begin())')
}

function mustHold({ sent, secrets, complaints }: Kept): void {
  assert.deepEqual(complaints, [], 'what the browser complained about')
  assert.ok(sent.length > 10, `${sent.length} pages`)
  for (const { path, body, policy } of sent) {
    assert.ok(policy !== '' && !policy.includes('unsafe-'), `${path}: ${policy}`)
    assert.ok(body.length < MAX_BYTES / 2, `${path} has ${body.length} bytes`)
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

export { MAX_BYTES }

/**
 * Every page of the console by keyboard alone, in a real Chromium: each stop of Tab is seen, in the order of the page, and there is a
 * way out. docs/console.md: Keyboard navigation.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { seedPassword } from '../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { type ConsolePage, goTo, openConsolePages } from '../support/clients/console-pages.ts'
import { eventually } from '../support/eventually.ts'
import { skipReason } from '../support/programs.ts'
import { openWorld, type World } from '../support/world.ts'

const chromium = findChromium()
const WEB = '/console/t/admin/projects/web'
/** More stops than a page of the walk has. */
const MAX_STOPS = 150

/** Marks each element that Tab can reach with its place in the document. A group of radios is one stop, at the selected one: arrows reach the others. */
const MARK = `(() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  const shown = all.filter((one) => !one.disabled && one.type !== 'hidden' && (one.type !== 'radio' || one.checked) && one.checkVisibility({ visibilityProperty: true }))
  shown.forEach((one, at) => one.setAttribute('data-stop', at))
  return shown.length
})()`
/** The stop where the focus is, and whether it is seen: it is in the window, and has a line around it, or around the row that it stands for. */
const WHERE = `(() => {
  const one = document.activeElement
  if (one === null || one === document.body) return undefined
  const { top, bottom, left, right, width, height } = one.getBoundingClientRect()
  const { outlineStyle, outlineWidth } = getComputedStyle(one.closest('.hit:has(.to:focus-visible)') ?? one)
  return {
    stop: Number(one.getAttribute('data-stop') ?? -1),
    about: one.outerHTML.slice(0, 150),
    isInWindow: width > 0 && height > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
    hasLine: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
  }
})()`
/** A field that lost the focus is still where Tab goes on from. */
const TO_THE_TOP = `(() => {
  document.body.tabIndex = -1
  document.body.focus()
  document.body.removeAttribute('tabindex')
})()`
const TWO_PICTURES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'
type Stop = { stop: number; about: string; isInWindow: boolean; hasLine: boolean }

async function open(world: World): Promise<void> {
  await world.call('POST', '/v10/projects', { name: 'web' })
  await world.call('POST', '/v10/projects/web/env', { key: 'A', value: '1', target: ['preview'] })
  await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
}

/** Presses Tab until the focus leaves the page, and says where it stopped. */
async function tabThrough(page: Page): Promise<Stop[]> {
  const stops: Stop[] = []
  for (let presses = 0; presses < MAX_STOPS; presses++) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop | undefined>(WHERE)
    if (stop === undefined || (stops.length > 0 && stop.stop === stops[0]!.stop)) return stops
    // A day, its month, its year and its calendar are stops of one field.
    if (stop.about.startsWith('<input type="date"') && stop.stop === stops.at(-1)?.stop) continue
    stops.push(stop)
  }
  return stops
}

async function inWindow(
  run: (page: Page, origin: string) => Promise<void>,
  { width = 1280, fill = open } = {},
): Promise<void> {
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium!)
  try {
    await fill(world)
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, width, true)
    await signInTo(page, origin)
    await run(page, origin)
    // A browser says of a page that is refused that it was: the one whose address is in an email.
    assert.deepEqual(
      complaints.filter((one) => !one.includes('status of 404')),
      [],
    )
  } finally {
    await browser.close()
    await world.close()
  }
}

for (const width of [1280, 390])
  test(`each stop of Tab is seen, in the order of the page, and the last one leads out, ${width} wide`, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether pages work by keyboard'))
    let pages: ConsolePage[] = []
    const fill = async (world: World) => {
      pages = await openConsolePages(world)
    }
    await inWindow(
      async (page, origin) => {
        for (const { path, address } of pages) {
          await goTo(page, `${origin}${address}`)
          const count = await page.evaluate<number>(MARK)
          // Pages that begin with a field begin at it, with the first picture: the walk begins at the top.
          await page.evaluate(TWO_PICTURES)
          await page.evaluate(TO_THE_TOP)
          const stops = await tabThrough(page)
          assert.ok(stops.length > 2 && stops.length < MAX_STOPS, `${path}: ${stops.length} stops`)
          for (const { about, isInWindow, hasLine } of stops)
            assert.deepEqual([isInWindow, hasLine], [true, true], `${path}: ${about} is not seen`)
          const order = stops.map(({ stop }) => stop)
          assert.deepEqual(
            order,
            [...new Set(order)].toSorted((one, two) => one - two),
            `${path}: the order`,
          )
          assert.deepEqual(order, [...Array(count).keys()], `${path}: each is reached`)
        }
      },
      { width, fill },
    )
  })

test('the first stop leads past the bar and the tabs', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether pages work by keyboard'))
  await inWindow(async (page, origin) => {
    await page.goto(`${origin}${WEB}`)
    await page.keyboard.press('Tab')
    assert.match((await page.evaluate<Stop>(WHERE)).about, /class="skip"/)
    await page.keyboard.press('Enter')
    await eventually(() => page.evaluate<boolean>(`document.activeElement.id === 'main'`))
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(`document.activeElement.closest('main') !== null`), true)
    assert.notEqual(await page.evaluate('document.activeElement.id'), 'main')
  })
})

test('a menu opens with Enter, can be walked through, and closes with Escape, on leaving it and on a click outside', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether menus work by keyboard'))
  await inWindow(async (page, origin) => {
    await page.goto(`${origin}${WEB}`)
    const isOpen = () => page.evaluate<boolean>(`document.querySelector('details.menu').open`)
    const summary = page.locator('details.menu > summary').first()
    await summary.focus()
    await page.keyboard.press('Enter')
    assert.equal(await isOpen(), true)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(`document.activeElement.closest('details.menu') !== null`), true)
    await page.keyboard.press('Escape')
    assert.equal(await isOpen(), false)
    assert.equal(await page.evaluate(`document.activeElement.tagName`), 'SUMMARY')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Shift+Tab')
    assert.equal(await isOpen(), false, 'the focus left it')
    await summary.click()
    assert.equal(await isOpen(), true)
    await page.locator('h1').click()
    assert.equal(await isOpen(), false)
  })
})

test('a button copies a text', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether a record can be copied'))
  await inWindow(async (page, origin) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
    await page.goto(`${origin}${WEB}/domains/www.example.com`)
    const record = page.locator('dt:text-is("Value") + dd')
    await record.getByRole('button').focus()
    // It says so for two seconds.
    await Promise.all([record.getByText('Copied').waitFor(), page.keyboard.press('Enter')])
    const value = await record.locator('code').innerText()
    assert.match(value, /^berth-domain-verify=/)
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), value)
  })
})

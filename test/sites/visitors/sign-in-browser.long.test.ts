/** Members come into a protected site of a laptop, in a real Chromium, which holds forms, redirects and cookies to its own rules. docs/edge.md: Sign-in of members. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, SITE, uploadAll } from '../../delivery/deploys/deploying.ts'
import { PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { newHome, startService } from '../../support/process.ts'
import { skipReason } from '../../support/programs.ts'
import { seedProject } from '../../support/projects.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { openWorld } from '../../support/world.ts'

const chromium = findChromium()

test('a member is led from a protected preview to the console and back to the page that was wanted', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'members who come into protected sites'))
  const home = await newHome(t, 'sqlite')
  const port = String(await freePort())
  const { BERTH_DATA, DATABASE_URL } = home.env
  const settings = { BERTH_DATA: BERTH_DATA!, DATABASE_URL: DATABASE_URL!, BERTH_SITES_PORT: port }
  const world = await openWorld('sqlite', settings)
  await seedPassword(world, world.credentials.userId)
  await seedProject(world, 'web')
  await uploadAll(world.call, SITE)
  const made = await create(world.call, SITE)
  assert.equal(made.status, 200, made.text)
  await world.call('PATCH', '/v9/projects/web', { ssoProtection: { deploymentType: 'preview' } })
  await world.close()
  const service = await startService(t, home, { BERTH_SITES_PORT: port })
  const browser = await openChromium(chromium)
  t.after(() => browser.close())
  const { page, complaints, context } = await openWindow(browser, 390)
  const site = `http://${made.body.url}`
  await eventually(async () => (await page.goto(`${site}/a/style.css`).catch(() => null)) !== null)
  // A style is not a page, so it is not redirected; a browser that asks for it asks for a page.
  await page.goto(`${site}/?from=mail#here`)
  assert.equal(new URL(page.url()).origin, service.address)
  await page.fill('input[name=name]', 'admin')
  await page.fill('input[name=password]', PASSWORD)
  await page.click('main button')
  await page.waitForURL('**/sites/sign-in?**')
  assert.match(await page.innerText('main'), new RegExp(`Open ${new URL(site).hostname}`))
  await page.getByRole('button', { name: 'Open the site' }).click()
  await page.waitForURL(`${site}/?from=mail`)
  assert.equal(await page.innerText('h1'), 'Hello')
  await page.goto(`${site}/a/style.css`)
  assert.match(await page.content(), /h1 \{\}/)
  const cookies = await context.cookies(site)
  assert.deepEqual(
    cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
    [['berth_site', true, 'Lax']],
  )
  assert.deepEqual(
    complaints.filter((line) => /policy|refused|cookie/i.test(line)),
    [],
  )
})

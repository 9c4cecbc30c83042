/** Passkeys in a real Chromium over https, with a virtual authenticator: register, sign in, second step, confirm, remove. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium } from '../../support/clients/chromium.ts'
import { FACTORS } from '../../support/clients/second-factor.ts'
import { skipReason } from '../../support/programs.ts'
import { noCertificates, openCertificates } from '../../support/servers/certificates.ts'
import { ENGINES, openWorld, type World } from '../../support/world.ts'

const HOUR_MS = 3_600_000

/** A proxy that speaks https for a service behind it, as Caddy would. */
async function openHttps(t: TestContext) {
  const made = openCertificates(t).make('passkeys')
  let target = ''
  const server = createServer({ cert: readFileSync(made.cert), key: readFileSync(made.key) }, (asked, answer) => {
    const { pathname, search } = new URL(asked.url!, target)
    const onward = request(new URL(pathname + search, target), { method: asked.method, headers: asked.headers })
    onward.on('response', (got) => {
      answer.writeHead(got.statusCode!, got.headers)
      got.pipe(answer)
    })
    asked.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`
  const leadTo = (address: string) => {
    target = address
  }
  return { origin, leadTo }
}

/** A page with an authenticator of its own, which verifies its user. */
async function openPage(browser: Browser) {
  const context = await browser.newContext()
  context.setDefaultTimeout(20_000)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  const verifies = (isUserVerified: boolean) =>
    devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
  return { page, complaints, verifies }
}

async function typePassword(page: Page): Promise<void> {
  await page.getByLabel('Email or username').fill('admin')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

async function liveThrough(world: World, browser: Browser, origin: string): Promise<void> {
  await seedPassword(world, world.credentials.userId)
  const { page, complaints, verifies } = await openPage(browser)
  await page.goto(`${origin}${FACTORS}`)
  await typePassword(page)
  await page.waitForURL(`${origin}${FACTORS}`)
  await page.getByLabel('Name of the passkey').fill('Laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor()
  assert.equal(await page.locator('main code').count(), 10)
  await page.getByRole('link', { name: "I've saved them" }).click()
  await page.getByText('not used yet').waitFor()
  // Without a name and a password.
  await page.context().clearCookies()
  await page.goto(`${origin}/sign-in`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(/\/console\/t\//)
  // Behind a password, which alone opens nothing.
  await page.context().clearCookies()
  await page.goto(`${origin}/sign-in`)
  await typePassword(page)
  await page.getByRole('heading', { name: 'Second step' }).waitFor()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(/\/console\/t\//)
  // Before what is dangerous.
  world.deps.clock.set(world.deps.clock.now() + HOUR_MS)
  await page.goto(`${origin}${FACTORS}`)
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await verifies(false)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('alert').getByText('The browser returned no passkey').waitFor()
  await verifies(true)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(`${origin}${FACTORS}`)
  await page.locator('summary', { hasText: 'Rename' }).click()
  await page.getByLabel('New name of Laptop').fill('Phone')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('summary', { hasText: 'Remove' }).click()
  await page.getByRole('button', { name: 'Remove Phone', exact: true }).click()
  await page.getByText('Your password is enough to sign in').waitFor()
  await page.context().clearCookies()
  await page.goto(`${origin}/sign-in`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByText('This passkey was not accepted').waitFor()
  assert.deepEqual(complaints, [])
}

for (const engine of ENGINES) {
  const name = `a user registers a passkey, signs in by it, uses it behind a password and to confirm, and removes it [${engine}]`
  test(name, { timeout: 300_000, skip: noCertificates }, async (t) => {
    const chromium = findChromium()
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', `"${name}" on a screen`))
    const https = await openHttps(t)
    const world = await openWorld(engine, { BERTH_PUBLIC_URL: https.origin })
    // Chromium offers no passkeys where a certificate is not trusted.
    const browser = await openChromium(chromium, '--ignore-certificate-errors')
    try {
      https.leadTo(await world.listen())
      await liveThrough(world, browser, https.origin)
    } finally {
      await browser.close()
      await world.close()
    }
  })
}

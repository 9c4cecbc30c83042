/**
 * Sites from the first deployment to the last in a real Chromium: through a real Caddy with TLS, and on a laptop without one. What a change
 * does is seen within two seconds. docs/deploying-sites.md: Sites server.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { deployFolder } from '../../scripts/bench/sites/deploy.ts'
import { PASSWORD } from '../support/clients/browser-client.ts'
import { findChromium, openChromium, openWindow, signInTo } from '../support/clients/chromium.ts'
import { startCaddy } from '../support/clients/proxies.ts'
import { eventually } from '../support/eventually.ts'
import {
  callerAt,
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  type ServiceHome,
  startService,
  startSites,
} from '../support/process.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { freePort } from '../support/servers/free-port.ts'
import { SITES_TOKEN } from '../support/worlds/sites-world.ts'

const SUFFIX = 'apps.example.net'
const EDGE_TOKEN = 'token-of-the-proxies-at-the-edge'
/** From the answer to a change until a browser that asks again shows it. */
const MAX_FELT_MS = 2000
const SITE_PASSWORD = 'for visitors'

const chromium = findChromium()
const tests = 'sites in a browser'
const skip =
  (chromium === undefined && skipReason('chromium', 'chromium', tests)) ||
  (!canRun('caddy', 'version') && skipReason('caddy', 'caddy', tests))

/** A service whose sites a browser visits at the origin that `originOf` makes of an address of a deployment. */
type Place = { home: ServiceHome; service: RunningService; originOf(address: string): string }

/** Deploys, looks, and changes all that visitors notice. Gives a page that shows production, and where. */
async function visitEverything(t: TestContext, { home, service, originOf }: Place) {
  const { token, operatorToken, teamId, userId, welcome } = credentialsOf(home)
  const call = callerAt(service, token)
  for (const id of [teamId, userId])
    await callerAt(service, operatorToken)('PATCH', `/operator/v1/accounts/${id}`, { plan: 'enterprise' })
  await call('POST', '/v10/projects', { name: 'web' })
  const browser = await openChromium(
    chromium!,
    `--host-resolver-rules=MAP *.${SUFFIX} 127.0.0.1`,
    '--ignore-certificate-errors',
  )
  t.after(() => browser.close())
  const { page, context } = await openWindow(browser, 800)
  const deploy = (text: string) => deployPage(home, service, token, text)

  const first = await deploy('first')
  const { body } = await call('GET', `/v13/deployments/${first}`)
  const production = body.alias.find((name) => /^web-[a-z0-9]{8}\./.test(name)) ?? assert.fail(body.alias.join())
  const url = originOf(production)
  await shows(page, url, 'first')
  await shows(page, originOf(body.url), 'first')
  await deploy('second')
  await shows(page, url, 'second')
  await shows(page, originOf(body.url), 'first')
  const { body: project } = await call('GET', '/v9/projects/web')
  await call('POST', `/v1/projects/${project.id}/rollback/${first}`)
  await shows(page, url, 'first')

  await call('POST', `/v1/projects/${project.id}/pause`)
  await answers(page, url, 503)
  await call('POST', `/v1/projects/${project.id}/unpause`)
  await shows(page, url, 'first')

  const protect = (settings: object) => call('PATCH', '/v9/projects/web', settings)
  await protect({ passwordProtection: { deploymentType: 'all', password: SITE_PASSWORD } })
  await looksUntil(page, url, async () => false, /ERR_INVALID_AUTH_CREDENTIALS/)
  const knowing = await browser.newContext({ httpCredentials: { username: '', password: SITE_PASSWORD } })
  await shows(await knowing.newPage(), url, 'first')
  await protect({ passwordProtection: null, ssoProtection: { deploymentType: 'all' } })

  await setPassword(page, service.address + welcome)
  await context.clearCookies()
  await signInTo(page, service.address)
  await looksUntil(page, `${url}/?from=mail`, async () => page.url().includes('/sites/sign-in'))
  await page.click('main button')
  await page.waitForURL(`${url}/?from=mail`)
  assert.equal(await page.innerText('h1'), 'first')
  const stranger = await openWindow(browser, 800)
  await stranger.page.goto(url)
  assert.equal(new URL(stranger.page.url()).origin, service.address)
  await protect({ ssoProtection: null })
  await shows(stranger.page, url, 'first')
  return { page: stranger.page, url }
}

async function deployPage(home: ServiceHome, service: RunningService, token: string, text: string): Promise<string> {
  const folder = join(home.folder, 'pages', text)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.html'), `<!doctype html><title>${text}</title><h1>${text}</h1>`)
  const { id } = await deployFolder({ origin: service.address, token }, folder, { project: 'web' })
  return id
}

/** As a user does who opened the link of the first start. */
async function setPassword(page: Page, link: string): Promise<void> {
  await page.goto(link)
  for (const name of ['password', 'again']) await page.fill(`input[name=${name}]`, PASSWORD)
  await page.click('main button')
  await page.waitForURL(({ pathname }) => pathname !== new URL(link).pathname)
}

async function shows(page: Page, url: string, text: string): Promise<void> {
  await looksUntil(page, url, async () => (await page.textContent('h1')) === text)
}

async function answers(page: Page, url: string, status: number): Promise<void> {
  await looksUntil(page, url, async (answered) => answered === status)
}

/**
 * Opens an address again and again. Fails where what is looked for came later than a user would wait for it. `fault`: what a browser without a
 * user in front of it says instead of asking for a password, or of an error without a page.
 */
async function looksUntil(
  page: Page,
  url: string,
  isSo: (status: number | undefined) => Promise<boolean>,
  fault?: RegExp,
): Promise<void> {
  let last = ''
  let began = performance.now()
  const look = async () => {
    began = performance.now()
    try {
      const status = (await page.goto(url))?.status()
      last = `${status} at ${page.url()}`
      return await isSo(status)
    } catch (error) {
      // A server that does not listen yet, or a page that is left for another one.
      last = String(error)
      return fault?.test(last) === true
    }
  }
  const tookMs = await eventually(look, () => `${url}: ${last}`)
  // A look that began in time may end late on a busy machine.
  const seenMs = tookMs - (performance.now() - began)
  assert.ok(seenMs <= MAX_FELT_MS, `it was ${seenMs.toFixed(0)} ms until a browser saw it`)
}

processOnBothEngines(
  'through Caddy with TLS a site is deployed, rolled back, paused and protected, and stays while the control plane is gone',
  async (t, engine) => {
    if (skip) return t.skip(skip)
    const home = await newHome(t, engine)
    const [edgePort, sitesPort] = [await freePort(), await freePort()]
    const controlPlane = `http://127.0.0.1:${edgePort}`
    const service = await startService(t, home, {
      BERTH_PLATFORM_SUFFIX: SUFFIX,
      BERTH_SITES_TOKEN: SITES_TOKEN,
      BERTH_EDGE_PORT: String(edgePort),
      BERTH_EDGE_TOKEN: EDGE_TOKEN,
    })
    const env = {
      BERTH_DATA: join(home.folder, 'of-sites'),
      BERTH_PLATFORM_SUFFIX: SUFFIX,
      BERTH_SITES_TOKEN: SITES_TOKEN,
      BERTH_SITES_CONTROL_PLANE: controlPlane,
      BERTH_TRUSTED_PROXIES: '127.0.0.1',
    }
    const startThem = () => startSites(t, { folder: home.folder, env }, { BERTH_SITES_PORT: String(sitesPort) })
    const sites = await startThem()
    const { https } = await startCaddy(
      t,
      { origin: controlPlane, token: EDGE_TOKEN },
      { recipe: 'Caddyfile.sites', env: { BERTH_SITES: `127.0.0.1:${sitesPort}` } },
    )
    const { page, url } = await visitEverything(t, { home, service, originOf: (name) => `https://${name}:${https}` })
    await service.kill('SIGKILL')
    await shows(page, url, 'first')
    await sites.kill('SIGKILL')
    await looksUntil(page, url, async () => false, /ERR_HTTP_RESPONSE_CODE_FAILURE/)
    await startThem()
    await shows(page, url, 'first')
  },
)

test('on a laptop a site is deployed, rolled back, paused and protected, with and without TLS on one port', async (t) => {
  if (skip) return t.skip(skip)
  const home = await newHome(t, 'sqlite')
  const service = await startService(t, home, { BERTH_SITES_PORT: String(await freePort()) })
  await eventually(() => /^berth sites listening on /m.test(service.out()))
  const { page, url } = await visitEverything(t, { home, service, originOf: (name) => `http://${name}` })
  await shows(page, url.replace('http:', 'https:'), 'first')
})

/** Users in a real Chromium: from the mailed link to the integration's first call, by mouse, by keyboard, on a phone, under attack. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, openChromium, openSite, openWindow, type Site } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../../support/programs.ts'
import { seedProject } from '../../support/projects.ts'
import { nameAccounts } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { type App, seedIntegration } from '../../support/worlds/integration-world.ts'

const chromium = findChromium()
const SCREENSHOTS = process.env.BERTH_SCREENSHOTS

/** As onBothEngines, with a browser. */
function inChromium(name: string, run: (world: World, browser: Browser) => Promise<void>): void {
  onBothEngines(name, async (world: World, t: TestContext) => {
    if (chromium === undefined) {
      return t.skip(skipReason('chromium', 'chromium', `"${name}" on a screen`))
    }
    await world.listen()
    const browser = await openChromium(chromium)
    try {
      await run(world, browser)
    } finally {
      await browser.close()
    }
  })
}

/** An integration as its maker writes it: exchanges the code, makes a first call, and sends the user on to another host. */
async function openIntegration(
  world: World,
): Promise<{ site: Site; app: App; seen: { status: number; names: string[]; state: string | null }[] }> {
  const seen: { status: number; names: string[]; state: string | null }[] = []
  let app: App
  const site = await openSite(async (request, response) => {
    const url = new URL(request.url!, site.origin)
    if (url.pathname === '/done')
      return void response.setHeader('content-type', 'text/html').end('<title>-</title>Connected')
    if (url.pathname !== '/callback') return void response.writeHead(204).end()
    const code = url.searchParams.get('code')
    if (code === null) return void response.end(`Not connected: ${url.searchParams.get('error')}`)
    const exchanged = await fetch(`${world.deps.origin()}/v2/oauth/access_token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id: app.clientId,
        client_secret: app.clientSecret,
        code,
        redirect_uri: `${site.origin}/callback`,
      }),
    })
    const { access_token: token, team_id: teamId } = (await exchanged.json()) as Record<string, string | null>
    const listed = await fetch(`${world.deps.origin()}/v9/projects${teamId ? `?teamId=${teamId}` : ''}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { projects } = (await listed.json()) as { projects: { name: string }[] }
    const names = projects.map((project) => project.name).sort()
    seen.push({ status: exchanged.status, names, state: url.searchParams.get('state') })
    response.writeHead(302, { location: `http://localhost:${site.port}/done` }).end()
  })
  app = await seedIntegration(world, {
    slug: 'sentinel',
    name: 'Sentinel Monitoring',
    redirectUrl: `${site.origin}/callback`,
    scopes: ['read-write:project', 'read-write:project-env-vars', 'read:domain', 'read-write:log-drain', 'read:user'],
  })
  return { site, app, seen }
}

async function makeProjects(world: World): Promise<void> {
  for (const name of ['storefront', 'checkout', 'docs', 'internal-tools']) {
    await seedProject(world, name, `?teamId=${world.credentials.teamId}`)
  }
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Email or username').fill('admin')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function keepPicture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, name), fullPage: true })
}

const NAMELESS = `[...document.querySelectorAll('input:not([type=hidden]):not([hidden])')].filter((field) => field.labels.length === 0).length`
const BLANK = `[...document.querySelectorAll('button,a')].filter((one) => (one.getAttribute('aria-label') ?? one.textContent).trim() === '' && one.offsetWidth > 0).length`
const LEVELS = `[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.tagName[1]))`

/** Nothing lies outside of the window, every field has a name that is read out, and headings are in order. */
async function mustFit(page: Page, width: number): Promise<void> {
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.ok(wide <= width, `${page.url()} is wider than ${width}`)
  assert.equal(await page.evaluate<number>(NAMELESS), 0, 'a field without a label')
  assert.equal(await page.evaluate<number>(BLANK), 0, 'a button without words')
  const levels = await page.evaluate<number[]>(LEVELS)
  assert.equal(levels[0], 1)
  for (const [at, level] of levels.entries()) assert.ok(at === 0 || level <= levels[at - 1]! + 1, `headings ${levels}`)
  assert.equal(await page.getByRole('main').count(), 1)
}

inChromium(
  'a user sets a password, consents to some projects, and the integration makes its first call',
  async (world, browser) => {
    const { userId } = world.credentials
    await makeProjects(world)
    const { site, seen } = await openIntegration(world)
    const { page, complaints, asked } = await openWindow(browser, 1280)
    try {
      const { body } = await world.operator('POST', `/operator/v1/users/${userId}/password-link`)
      await page.goto(body.url)
      await mustFit(page, 1280)
      await page.getByLabel('New password').fill(PASSWORD)
      await page.getByLabel('Confirm password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Set password' }).click()
      await page.getByText('Your password is set').waitFor()
      const state = 'a b\n=&"<>'
      await page.goto(`${world.deps.origin()}/integrations/sentinel/new?state=${encodeURIComponent(state)}`)
      await signIn(page)
      await page.getByRole('link', { name: 'Team (team)' }).click()
      await mustFit(page, 1280)
      await page.getByLabel('storefront').check()
      await page.getByLabel('docs').check()
      await keepPicture(page, 'consent-1280.png')
      await page.getByLabel('storefront').uncheck()
      await page.getByLabel('docs').uncheck()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByRole('alert').getByText('Tick at least one project').click()
      await page.waitForURL(/#projects$/)
      await page.getByLabel('storefront').check()
      await page.getByLabel('docs').check()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Connected').waitFor()
      assert.deepEqual(seen, [{ status: 200, names: ['docs', 'storefront'], state }])

      await page.goto(`${world.deps.origin()}/integrations/installed`)
      await mustFit(page, 1280)
      await page.getByText('Projects: docs, storefront').waitFor()
      await page.getByRole('link', { name: 'Uninstall Sentinel Monitoring' }).click()
      await page.getByRole('button', { name: 'Uninstall' }).click()
      await page.getByRole('heading', { name: 'Installed integrations' }).waitFor()
      assert.equal(await page.getByText('Sentinel').count(), 0)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      // The browser notes the page that asked again; it notes nothing else.
      assert.deepEqual(complaints, [
        'Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
      ])
      assert.deepEqual([...asked].sort(), [world.deps.origin(), site.origin, `http://localhost:${site.port}`].sort())
    } finally {
      await site.close()
    }
  },
)

const FOCUSED = `(() => {
  const { labels, textContent } = document.activeElement
  const name = (labels?.[0]?.textContent ?? textContent ?? '').trim()
  return { name, outline: getComputedStyle(document.activeElement).outlineStyle }
})()`

/** Presses Tab until what is focused has this name; every stop on the way must be visible. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate<{ name: string; outline: string }>(FOCUSED)
    if (focused.name !== '') assert.notEqual(focused.outline, 'none', `the focus on "${focused.name}" is not visible`)
    if (focused.name === name) return
  }
  assert.fail(`no Tab reaches "${name}" on ${page.url()}`)
}

inChromium('by keyboard alone and on a phone: sign in, choose, approve, confirm, uninstall', async (world, browser) => {
  await makeProjects(world)
  await seedPassword(world, world.credentials.userId)
  const { site, app, seen } = await openIntegration(world)
  const { page, complaints } = await openWindow(browser, 390)
  const press = async (name: string, key = 'Enter') => {
    await tabTo(page, name)
    await page.keyboard.press(key)
  }
  try {
    await page.goto(`${world.deps.origin()}/oauth/authorize?client_id=${app.clientId}&response_type=code&state=s`)
    await mustFit(page, 390)
    await tabTo(page, 'Email or username')
    await page.keyboard.type('admin')
    await tabTo(page, 'Password')
    await page.keyboard.type('a wrong password')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await press('Wrong name or password.')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('Where should it work?').waitFor()
    await mustFit(page, 390)
    await press('Team (team)')
    await page.getByText('What it will be able to do').waitFor()
    await mustFit(page, 390)
    await press('checkout', 'Space')
    // Enter on a box shows the page again and approves nothing.
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    assert.ok(await page.getByLabel('checkout').isChecked())
    assert.deepEqual(await world.deps.db.read.selectFrom('configuration').selectAll().execute(), [])
    await press('docs', 'Space')
    await keepPicture(page, 'consent-390.png')
    await press('Approve')
    await page.getByText('Connected').waitFor()
    assert.deepEqual(seen, [{ status: 200, names: ['checkout', 'docs'], state: 's' }])

    const scopes = ['read-write:project', 'read-write:team', 'read-write:global-project-env-vars']
    const changed = await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })
    assert.equal(changed.status, 200, changed.text)
    await page.goto(`${world.deps.origin()}/integrations/installed`)
    await mustFit(page, 390)
    await press('Review the request of Sentinel Monitoring')
    await page.getByText('details and its members').waitFor()
    await mustFit(page, 390)
    await press('Confirm all')
    await page.getByRole('heading', { name: 'Installed integrations' }).waitFor()
    const row = await world.deps.db.read.selectFrom('configuration').select('scopes_json').executeTakeFirstOrThrow()
    assert.deepEqual(JSON.parse(row.scopes_json).sort(), [...scopes].sort())
    await press('Uninstall Sentinel Monitoring')
    await page.getByText('You cannot undo this').waitFor()
    await mustFit(page, 390)
    await press('Uninstall')
    await page.getByRole('heading', { name: 'Installed integrations' }).waitFor()
    assert.equal(await page.getByText('Sentinel').count(), 0)
    assert.deepEqual(
      complaints.filter((text) => !/status of 403/.test(text)),
      [],
    )
  } finally {
    await site.close()
  }
})

inChromium('canceling redirects to the integration, with the reason', async (world, browser) => {
  await seedPassword(world, world.credentials.userId)
  const { site } = await openIntegration(world)
  const { page, complaints } = await openWindow(browser, 390)
  try {
    await page.goto(`${world.deps.origin()}/integrations/sentinel/new?state=s`)
    await signIn(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Not connected: access_denied').waitFor()
    assert.deepEqual(complaints, [])
  } finally {
    await site.close()
  }
})

inChromium("another site's forms, requests and frames move nothing, be it on the same host", async (world, browser) => {
  await seedPassword(world, world.credentials.userId)
  const { site: integration } = await openIntegration(world)
  const target = `${world.deps.origin()}/integrations/sentinel/new?account=${world.credentials.userId}`
  const scopes = [
    'read-write:project',
    'read-write:project-env-vars',
    'read:domain',
    'read-write:log-drain',
    'read:user',
  ]
  const fields = `<input name=decision value=approve><input name=selection value=all>${scopes.map((scope) => `<input name=scope value="${scope}">`).join('')}`
  const pages: Record<string, string> = {
    '/form': `<form method=post action="${target}">${fields}</form><script>document.forms[0].submit()</script>`,
    '/fetch': `<title>-</title><script>
      const body = new URLSearchParams('decision=approve&selection=all')
      fetch(${JSON.stringify(target)}, { method: 'POST', mode: 'no-cors', credentials: 'include', body }).finally(() => { document.title = 'sent' })
    </script>`,
    '/frame': `<title>framed</title><iframe src="${target}" width=800 height=800></iframe>`,
  }
  const evil = await openSite((request, response) =>
    response.setHeader('content-type', 'text/html').end(pages[request.url!]),
  )
  const { page, context, complaints } = await openWindow(browser, 1280, true)
  try {
    await page.goto(target)
    await signIn(page)
    await page.getByText('What it will be able to do').waitFor()
    // On the same host the browser sends the cookie along; on another it does not, and the user is redirected to the page itself.
    for (const [host, said] of [
      ['127.0.0.1', 'Access denied'],
      ['localhost', 'Install Sentinel Monitoring?'],
    ] as const) {
      await page.goto(`http://${host}:${evil.port}/form`)
      await page.getByRole('heading', { name: said }).waitFor()
      await page.goto(`http://${host}:${evil.port}/fetch`)
      await eventually(async () => (await page.title()) === 'sent')
      complaints.length = 0
      await page.goto(`http://${host}:${evil.port}/frame`)
      await eventually(() => /frame-ancestors/.test(complaints.join()))
      assert.equal(await page.frames()[1]?.getByText('Sentinel').count(), 0)
    }
    assert.deepEqual(await world.deps.db.read.selectFrom('configuration').selectAll().execute(), [])
    const cookies = await context.cookies()
    assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]).sort()[0], [
      'berth_session',
      true,
      'Lax',
    ])
    assert.equal(await page.evaluate<string>('document.cookie'), '')
  } finally {
    await evil.close()
    await integration.close()
  }
})

inChromium('what others named runs nothing, in a browser that would run it', async (world, browser) => {
  await seedPassword(world, world.credentials.userId)
  const { page, complaints, asked } = await openWindow(browser, 1280, true)
  await page.goto(`${world.deps.origin()}/integrations/installed`)
  await signIn(page)
  await page.getByRole('heading', { name: 'Installed integrations' }).waitFor()
  const payloads = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "'onfocus='alert(1)' autofocus='",
    '</title></style><svg onload=alert(1)>',
    'javascript:alert(1)',
  ]
  for (const [at, payload] of payloads.entries()) {
    await seedIntegration(world, { slug: `s${at}`, name: payload })
    await nameAccounts(world, payload)
    const said = encodeURIComponent(payload)
    await page.goto(
      `${world.deps.origin()}/integrations/s${at}/new?account=${world.credentials.userId}&state=${said}&next=${said}`,
    )
    await page.getByRole('heading', { name: `Install ${payload}?` }).waitFor()
    await page.goto(`${world.deps.origin()}/integrations/installed`)
    assert.equal(await page.title(), 'Installed integrations – Berth')
  }
  assert.deepEqual(complaints, [])
  assert.deepEqual([...asked], [world.deps.origin()])
})

/** The pages of a project in a real Chromium: axe finds nothing, nothing is wider than the window, and the browser has nothing to complain about. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../../support/clients/chromium.ts'
import { eventually } from '../../support/eventually.ts'
import { skipReason } from '../../support/programs.ts'
import { openWorld, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const chromium = findChromium()
const ACCOUNT = '/console/t/admin'
const WEB = `${ACCOUNT}/projects/web`

/** A project with something on each of its pages, and their addresses. */
async function open(world: World): Promise<Record<string, string>> {
  const web = await seedWebProject(world)
  await world.call('POST', '/v10/projects', { name: 'empty' })
  const ids: string[] = []
  for (const body of [
    { key: 'DATABASE_URL', value: 'postgres://one', target: ['production'], comment: 'The main database' },
    { key: 'DATABASE_URL', value: 'postgres://two', target: ['preview'], gitBranch: 'next' },
    { key: `${'LONG_'.repeat(20)}KEY`, value: 'x', target: ['production', 'preview'], type: 'sensitive' },
  ])
    ids.push((await world.call('POST', '/v10/projects/web/env', body)).body.created.id)
  await world.call('PATCH', `/v9/projects/web/env/${ids[0]}`, { value: 'postgres://three' })
  await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
  await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
  const meta = { githubCommitRef: 'main', githubCommitMessage: 'Let the basket keep what was put into it' }
  const first = await web.deploy({ meta })
  await web.deploy({ target: 'preview', gitBranch: 'next' })
  await web.promote(first)
  await web.deploy({ readyState: 'ERROR' })
  return {
    projects: ACCOUNT,
    'new-project': `${ACCOUNT}/new`,
    receive: `${ACCOUNT}/receive`,
    project: WEB,
    variables: `${WEB}/variables`,
    'no-variables': `${ACCOUNT}/projects/empty/variables`,
    'variable-new': `${WEB}/variables/new`,
    'variable-edit': `${WEB}/variables/${ids[0]}/edit`,
    'variable-value': `${WEB}/variables/${ids[0]}`,
    'variable-history': `${WEB}/variables/${ids[0]}/history`,
    'variables-compare': `${WEB}/variables/compare?all=1`,
    'variables-import': `${WEB}/variables/import`,
    domains: `${WEB}/domains`,
    'no-domains': `${ACCOUNT}/projects/empty/domains`,
    'domain-add': `${WEB}/domains/add`,
    domain: `${WEB}/domains/www.example.com`,
    'domain-dns': `${WEB}/domains/www.example.com/dns`,
    deployments: `${WEB}/deployments`,
    deployment: `${WEB}/deployments/${first}`,
    progress: `${WEB}/deployments/progress`,
    settings: `${WEB}/settings`,
    transfer: `${WEB}/transfer`,
  }
}

test('axe finds nothing on the pages of a project, narrow and wide, light and dark', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether the pages are accessible'))
  const world = await openWorld('sqlite', SETTINGS)
  const browser = await openChromium(chromium)
  try {
    const pages = await open(world)
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    for (const width of [390, 1280])
      for (const colorScheme of ['light', 'dark'] as const) {
        const { context, page, complaints } = await openWindow(browser, width, true)
        await page.emulateMedia({ colorScheme })
        await signInTo(page, origin)
        for (const [name, path] of Object.entries(pages)) {
          await page.goto(`${origin}${path}`)
          await look(page, name, width, colorScheme)
        }
        await page.goto(`${origin}${WEB}/variables/import`)
        await page.fill('#text', 'ADDED=1\nnot a line\n2BAD=1')
        await page.click('button[value=plan]')
        await page.waitForSelector('[role=alert]')
        await look(page, 'import-refused', width, colorScheme)
        await page.fill('#text', 'ADDED=1')
        await page.click('button[value=plan]')
        await page.waitForSelector('button[value=apply]')
        await look(page, 'import-plan', width, colorScheme)
        // A browser says of each page that is refused that it was.
        assert.deepEqual(
          complaints.filter((one) => !one.includes('status of 400')),
          [],
        )
        await context.close()
      }
  } finally {
    await browser.close()
    await world.close()
  }
})

for (const script of [true, false])
  test(`filters are behind one line on a telephone, open once one is set, and all seen where there is room, ${script ? 'with' : 'without'} script`, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether filters can be opened'))
    const world = await openWorld('sqlite', SETTINGS)
    const browser = await openChromium(chromium)
    try {
      await (await seedWebProject(world)).deploy()
      await seedPassword(world, world.credentials.userId)
      const origin = await world.listen()
      const wide = await openWindow(browser, 1280, script)
      await signInTo(wide.page, origin)
      await wide.page.goto(`${origin}${WEB}/deployments`)
      assert.equal(await wide.page.locator('#state').isVisible(), true)
      assert.equal(await wide.page.getByText('Filters', { exact: true }).isVisible(), false)
      const { page, complaints } = await openWindow(browser, 390, script)
      await signInTo(page, origin)
      await page.goto(`${origin}${WEB}/deployments`)
      assert.equal(await page.locator('#state').isVisible(), false)
      await page.getByText('Filters', { exact: true }).click()
      await page.selectOption('#state', 'READY')
      await page.getByRole('button', { name: 'Filter', exact: true }).click()
      await page.waitForURL(/state=READY/)
      assert.equal(await page.locator('#state').isVisible(), true, 'a filter that is set is seen')
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
      await world.close()
    }
  })

test('a select of the filters narrows the list at once, and keeps the focus', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether a select filters at once'))
  const world = await openWorld('sqlite', SETTINGS)
  const browser = await openChromium(chromium)
  try {
    await (await seedWebProject(world)).deploy()
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${WEB}/deployments`)
    await page.locator('#state').focus()
    for (const [state, none] of [
      ['ERROR', true],
      ['READY', false],
    ] as const) {
      await page.selectOption('#state', state)
      await page.waitForURL(new RegExp(`state=${state}`))
      await page.getByText('No deployments match').waitFor({ state: none ? 'visible' : 'detached' })
      assert.equal(await page.evaluate('document.activeElement.id'), 'state')
      assert.equal(await page.inputValue('#state'), state)
    }
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
    await world.close()
  }
})

test('hovering a link loads nothing: a value is read, with an audit entry, only once its link is followed', async (t) => {
  if (chromium === undefined)
    return t.skip(skipReason('chromium', 'chromium', 'whether a pointer above a link opens values'))
  const world = await openWorld('sqlite', SETTINGS)
  const browser = await openChromium(chromium)
  try {
    const pages = await open(world)
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${pages.variables}`)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    for (const link of await page.getByRole('link', { name: /^(Reveal|Compare)/ }).all()) {
      await link.hover()
      // Turbo asks when the pointer has stayed for 100 ms.
      await page.waitForTimeout(300)
    }
    assert.deepEqual(
      asked.filter((path) => path !== '/console/live' && !path.startsWith('/assets/')),
      [],
    )
    const link = page.getByRole('link', { name: 'Reveal DATABASE_URL' }).first()
    const followed = await link.getAttribute('href')
    await link.click()
    const id = followed!.split('/').at(-1)!
    const shown = page.locator(`#value-${id} pre`)
    assert.match(await shown.innerText(), /^postgres:/)
    assert.equal(new URL(page.url()).pathname, pages.variables, 'in its row')
    // A change of another user renders the list again, without the value.
    await world.call('POST', '/v10/projects/web/env', { key: 'LATER', value: 'x', target: ['preview'] })
    await page.getByRole('link', { name: 'LATER', exact: true }).waitFor()
    await shown.waitFor({ state: 'detached' })
    await world.deps.secretReads.write()
    const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=100')).body
    assert.deepEqual(
      entries.filter(({ type }) => type === 'getProjectEnv').map(({ subjectId }) => subjectId),
      [id],
    )
  } finally {
    await browser.close()
    await world.close()
  }
})

const DROPPED = (bytes: string) => `(() => {
  const data = new DataTransfer()
  data.items.add(new File([${bytes}], '.env'))
  const drop = (type) => new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true })
  const text = document.getElementById('text')
  return [text.dispatchEvent(drop('dragover')), text.dispatchEvent(drop('drop'))]
})()`

test('a file that is dropped becomes the text, and one that is too large does not', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether a file can be dropped'))
  const world = await openWorld('sqlite')
  const browser = await openChromium(chromium)
  try {
    await world.call('POST', '/v10/projects', { name: 'web' })
    await seedPassword(world, world.credentials.userId)
    const origin = await world.listen()
    const { page, complaints } = await openWindow(browser, 1280, true)
    await signInTo(page, origin)
    await page.goto(`${origin}${WEB}/variables`)
    // By Turbo, without a load.
    await page.click('text=Paste a .env file')
    await page.waitForSelector('#text')
    const large = await page.evaluate(DROPPED(`'x'.repeat(1024 * 1024 + 1)`))
    assert.deepEqual(large, [false, false], 'the browser does not open the file')
    assert.equal(await page.inputValue('#text'), '')
    assert.match(await page.evaluate<string>(`document.getElementById('text').validationMessage`), /larger than 1 MiB/)
    await page.evaluate(DROPPED(`'A=1\\nB="two words"\\n'`))
    // The file is read asynchronously. The policy of the page allows no evaluation of a text that waits for it.
    await eventually(async () => (await page.inputValue('#text')) !== '')
    assert.equal(await page.inputValue('#text'), 'A=1\nB="two words"\n')
    await page.click('button[value=plan]')
    await page.click('button[value=apply]')
    await page.waitForURL(`${origin}${WEB}/variables`)
    const { env } = (await world.call('GET', '/v3/env/pull/web/development')).body
    assert.deepEqual(env, { A: '1', B: 'two words' })
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
    await world.close()
  }
})

/**
 * The pages of a team and of a user in a real Chromium: axe finds nothing, nothing is wider than the window, the browser has nothing to
 * complain about, and with script what is shown once is shown. docs/console.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedPassword } from '../../support/clients/browser-client.ts'
import { findChromium, look, openChromium, openWindow, signInTo } from '../../support/clients/chromium.ts'
import { skipReason } from '../../support/programs.ts'
import { deliver, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { openWorld, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const chromium = findChromium()
const TEAM = '/console/t/team'

/** A team with something on each of its pages, and their addresses. */
async function open(world: World, url: string): Promise<Record<string, string>> {
  const { teamId } = world.credentials
  const team = `teamId=${teamId}` as const
  const { id: projectId } = (await world.call('POST', `/v10/projects?${team}`, { name: 'web' })).body
  const { installationId, app } = await seedInstallation(world, {}, { projects: [projectId] })
  const hook = { url, events: ['project.created', 'deployment.ready', 'project.env-variable.created'] }
  const webhookId = (await world.call('POST', `/v1/webhooks?${team}`, hook)).body.id
  for (const name of ['shop', 'docs']) await world.call('POST', `/v10/projects?${team}`, { name })
  const drain = { url: `${url}/a-long-path/that/goes/on/and/on`, sources: ['edge'], deliveryFormat: 'json' }
  const drainId = (await world.call('POST', `/v1/log-drains?${team}`, drain)).body.id
  const lines = [{ timestamp: 1, message: 'hello', source: 'edge' }]
  await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
  await deliver(world)
  await world.join(await world.user('grace'), 'MEMBER')
  const guest = { email: `${'somebody.with.a.long.name.'.repeat(2)}@example.com`, role: 'VIEWER' }
  await world.call('POST', `/v1/teams/${teamId}/members`, guest)
  const token = {
    name: 'deploy pipeline',
    scopes: ['read-write:project', 'read:domain', 'read-write:project-env-vars'],
  }
  await world.call('POST', `/v3/user/tokens?${team}`, token)
  const [delivery] = (await world.call('GET', `/v1/webhooks/${webhookId}/deliveries?${team}`)).body.deliveries
  const webhook = `${TEAM}/webhooks/${webhookId}`
  return {
    integrations: `${TEAM}/integrations`,
    installation: `${TEAM}/integrations/${installationId}`,
    'no-integrations': '/console/t/admin/integrations',
    apps: `${TEAM}/apps`,
    app: `${TEAM}/apps/${app.id}`,
    'app-new': `${TEAM}/apps/new`,
    'app-change': `${TEAM}/apps/${app.id}/change`,
    'app-secret': `${TEAM}/apps/${app.id}/secrets`,
    webhooks: `${TEAM}/webhooks`,
    webhook,
    'webhook-new': `${TEAM}/webhooks/new`,
    'no-webhooks': '/console/t/admin/webhooks',
    delivery: `${webhook}/deliveries/${delivery!.id}`,
    drains: `${TEAM}/drains`,
    drain: `${TEAM}/drains/${drainId}`,
    'drain-new': `${TEAM}/drains/new`,
    members: `${TEAM}/members`,
    invite: `${TEAM}/members/invite`,
    activity: `${TEAM}/activity`,
    'team-settings': `${TEAM}/settings`,
    'team-new': '/console/teams/new',
    profile: '/console/account',
    security: '/console/account/security',
    tokens: '/console/account/tokens',
    'token-new': '/console/account/tokens/new',
  }
}

test('axe finds nothing on the pages of a team and of a user, narrow and wide, light and dark', async (t) => {
  if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether the pages are accessible'))
  const to = await receiver(t)
  to.answer((response) => response.writeHead(500).end('broken'))
  const world = await openWorld('sqlite', LOCAL)
  const browser = await openChromium(chromium)
  try {
    const pages = await open(world, to.url)
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
        assert.deepEqual(complaints, [])
        await context.close()
      }
  } finally {
    await browser.close()
    await world.close()
  }
})

for (const script of [true, false])
  test(`one-time secrets are shown, and refused forms are shown again, ${script ? 'with' : 'without'} script`, async (t) => {
    if (chromium === undefined) return t.skip(skipReason('chromium', 'chromium', 'whether forms work in a browser'))
    const to = await receiver(t)
    const world = await openWorld('sqlite', LOCAL)
    const browser = await openChromium(chromium)
    try {
      await seedPassword(world, world.credentials.userId)
      const origin = await world.listen()
      const { page } = await openWindow(browser, 1280, script)
      await signInTo(page, origin)
      await page.goto(`${origin}/console/account/tokens/new`)
      await page.fill('#name', 'pipeline')
      await page.fill('#project', 'nowhere')
      await page.check('input[name=may][value=all]')
      assert.equal(
        await page.locator('.levels').isVisible(),
        false,
        'levels are for a token that may not do everything',
      )
      await page.click('text=Create token')
      await page.getByRole('alert').getByText('nowhere').first().waitFor()
      await page.fill('#project', '')
      await page.click('text=Create token')
      const token = await page.innerText('pre.secret')
      assert.equal((await world.as(token)('GET', '/v2/user')).status, 200)
      await page.click('text=Back to tokens')
      await page.waitForURL(`${origin}/console/account/tokens`)
      await page.getByRole('main').getByText('pipeline').first().waitFor()

      await page.goto(`${origin}${TEAM}/webhooks/new`)
      await page.fill('#url', to.url)
      await page.check('input[value="project.created"]')
      await page.click('text=Create webhook')
      assert.match(await page.innerText('pre.secret'), /^whsec_/)
      await page.click('text=Go to webhook')
      await page.click('text=Send a test event')
      await page.getByRole('status').getByText('Delivered').first().waitFor()

      await page.goto(`${origin}${TEAM}/settings`)
      await page.fill('#slug', 'admin')
      await page.click('text=Save')
      await page.waitForSelector('#slug-fault')
      await page.fill('#slug', 'harbour')
      await page.click('text=Save')
      await page.waitForURL(`${origin}/console/t/harbour/settings`)
      await page.getByRole('status').getByText('The settings of the team are saved.').waitFor()
      await page.goto(`${origin}/console/t/harbour/activity`)
      const file = page.waitForEvent('download')
      await page.click('text=Export as CSV')
      assert.equal((await file).suggestedFilename(), 'activity-harbour.csv')
    } finally {
      await browser.close()
      await world.close()
    }
  })

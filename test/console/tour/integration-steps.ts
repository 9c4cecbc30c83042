/** What the owner of an integration does, and a user who installs it; and a webhook that fails. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { deliver } from '../../support/servers/receiver.ts'
import { formOf } from '../../support/worlds/integration-world.ts'
import { type Steps, TEAM } from './scene.ts'

const VALUE_OF_APP = 'value-that-the-app-made'

export const integrationSteps: Steps = {
  async 'an app is registered, a second user installs it, and its variable is shown with its logo'(scene) {
    const { tour, world, site } = scene
    const ada = scene.ada!
    await tour.go(`${TEAM}/apps/new`)
    await tour.look('new-app')
    await tour.fill({ slug: 'helper', name: 'Helper', redirectUrl: site.redirectUrl, logoUrl: site.logoUrl })
    for (const scope of ['project', 'project-env-vars'])
      await tour.page.locator(`main [name="level-${scope}"]`).selectOption('read-write')
    await tour.press('Register app')
    const [clientId, clientSecret] = (await tour.page.locator('main pre').allInnerTexts()) as [string, string]
    tour.secret(clientSecret, /\/apps\/new$/)
    await tour.look('app-made')

    await ada.go('/console/t/ada/new')
    await ada.fill({ name: 'ada-web' })
    await ada.press('Create project')
    await ada.go('/integrations/helper/new')
    await ada.look('install')
    await ada.page.getByRole('radio', { name: /^All projects/ }).check()
    await ada.page.getByRole('button', { name: 'Approve' }).click()
    await ada.page.waitForURL((url) => url.href.startsWith(site.redirectUrl))
    const code = site.codes.at(-1)!

    const fields = { client_id: clientId, client_secret: clientSecret, code, redirect_uri: site.redirectUrl }
    const given = await world.as(undefined)('POST', '/v2/oauth/access_token', formOf(fields))
    assert.equal(given.status, 200, given.text)
    const variable = { key: 'HELPER_KEY', value: VALUE_OF_APP, type: 'encrypted', target: ['production'] }
    const made = await world.as(given.body.access_token)('POST', '/v10/projects/ada-web/env', variable)
    assert.equal(made.status, 201, made.text)
    for (const secret of [VALUE_OF_APP, given.body.access_token]) tour.secret(secret, /^$/)

    const before = site.logos()
    await ada.go('/console/t/ada/projects/ada-web/variables')
    const row = ada.page.getByRole('row').filter({ hasText: 'HELPER_KEY' })
    await row.getByText('Helper', { exact: true }).waitFor()
    assert.equal(await row.getByRole('presentation').getAttribute('src'), site.logoUrl)
    await eventually(() => site.logos() > before)
    await ada.look('variable-of-app')
    await ada.go('/console/t/ada/integrations')
    await ada.follow('Helper')
    await ada.look('installed')
  },

  async 'a failing webhook is shown, and once its receiver is fixed the event is sent again'({
    tour,
    world,
    receiver,
  }) {
    receiver.answer((response) => response.writeHead(500).end('broken'))
    await tour.go(`${TEAM}/webhooks/new`)
    await tour.look('new-webhook')
    await tour.fill({ url: receiver.url })
    await tour.page.getByRole('checkbox', { name: 'project.created', exact: true }).check()
    await tour.press('Create webhook')
    tour.secret(await tour.page.locator('main pre.secret').innerText(), /\/webhooks\/new$/)
    await tour.follow('Go to webhook')
    const webhook = new URL(tour.page.url()).pathname
    await tour.go(`${TEAM}/new`)
    await tour.fill({ name: 'heard' })
    await tour.press('Create project')
    await deliver(world)
    // After its second failure the next attempt is some while away.
    await deliver(world, world.deps.clock.now() + 10_000)
    await receiver.until(2)
    await tour.go(webhook)
    await tour.page.getByText('Failing').first().waitFor()
    await tour.look('webhook-failing')
    await tour.follow('project.created')
    await tour.page.getByRole('row').filter({ hasText: '500' }).first().waitFor()
    await tour.look('delivery-failing')
    receiver.answer((response) => response.end('mended'))
    await tour.press(/^Send now/)
    await deliver(world)
    await receiver.until(3)
    await tour.go(new URL(tour.page.url()).pathname)
    await tour.page.getByRole('row').filter({ hasText: '200' }).waitFor()
    await tour.page.getByText('Delivered', { exact: true }).first().waitFor()
    await tour.look('delivery')
    await tour.go(webhook)
    await tour.page.getByText('Active').first().waitFor()
    assert.deepEqual(
      receiver.got.map(({ headers, body }) => [headers['webhook-id'], body.type]),
      Array(3).fill([receiver.got[0]!.headers['webhook-id'], 'project.created']),
    )
  },
}

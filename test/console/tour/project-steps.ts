/** What a new user does with a project: from the link of the first start to what visitors get. */
import assert from 'node:assert/strict'
import { PASSWORD } from '../../support/clients/browser-client.ts'
import { startCaddy } from '../../support/clients/proxies.ts'
import { MAX_BYTES, weightOf } from '../../support/clients/tour.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'
import {
  canProveDomains,
  canRunCaddy,
  DOMAIN,
  EDGE_TOKEN,
  OTHER_VALUE,
  type Scene,
  type Steps,
  TEAM,
  VALUE,
  variableId,
  WEB,
} from './scene.ts'

const TWO_HOURS_MS = 2 * 3_600_000

async function productionOf({ world }: Scene) {
  const { body } = await world.call('GET', `/v9/projects/web?teamId=${world.credentials.teamId}`)
  return { projectId: body.id, deploymentId: (body.targets as { production?: { id: string } }).production?.id }
}

export const projectSteps: Steps = {
  async 'the first user sets a password with the setup link of the first start'({ tour, world }) {
    await tour.go(world.credentials.welcome)
    await tour.look('welcome')
    await tour.fill({ password: PASSWORD, again: PASSWORD })
    await tour.press('Set password and continue')
    assert.match(tour.page.url(), /\/console\/t\/team$/)
    await tour.look('no-projects')
  },

  async 'a project is made in the team'({ tour }) {
    await tour.go(`${TEAM}/new`)
    await tour.look('new-project')
    await tour.fill({ name: 'web' })
    await tour.press('Create project')
    assert.match(tour.page.url(), /\/projects\/web$/)
    if (tour.script) assert.ok((await weightOf(tour.page)) <= MAX_BYTES, 'the page with its script')
  },

  async 'a .env text is pasted, its plan is seen, and it is applied'(scene) {
    const { tour } = scene
    await tour.go(`${WEB}/variables/import`)
    await tour.fill({ text: `API_KEY=${VALUE}\nOTHER_KEY=${OTHER_VALUE}` })
    await tour.look('env-file')
    await tour.press('Review changes')
    await tour.look('plan')
    await tour.press(/^Apply 2 changes/)
    await tour.go(`${WEB}/variables`)
    await tour.page.getByText('API_KEY').first().waitFor()
    await tour.look('variables', true)
    tour.secret(VALUE, new RegExp(`/variables/(import|${await variableId(scene, 'API_KEY')})$`))
    tour.secret(OTHER_VALUE, /\/variables\/import$/)
  },

  async 'a value is revealed alone, after a fresh password, and the audit log says who was given it'(scene) {
    const { tour, world } = scene
    const id = await variableId(scene, 'API_KEY')
    // The password was given longer than an hour ago.
    world.deps.clock.set(world.deps.clock.now() + TWO_HOURS_MS)
    const before = tour.pagesWith(VALUE)
    await tour.go(`${WEB}/variables`)
    await tour.follow('Reveal API_KEY')
    assert.equal(new URL(tour.page.url()).pathname, '/confirm')
    await tour.look('confirm')
    assert.equal(tour.pagesWith(VALUE), before, 'no page before the password has the value')
    await tour.fill({ password: PASSWORD })
    await tour.press('Continue')
    assert.ok(tour.page.url().endsWith(`/variables/${id}`), tour.page.url())
    assert.equal((await tour.page.locator('turbo-frame pre').innerText()).trim(), VALUE)
    await tour.look('variable-value')
    assert.equal(tour.pagesWith(VALUE), before + 1, 'one page has the value')
    await world.deps.secretReads.write()
    const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=100')).body
    const lines = entries.filter(({ type }) => type === 'getProjectEnv')
    assert.deepEqual(
      lines.map(({ actor, subjectId }) => [actor.kind, actor.id, subjectId]),
      [['user', world.credentials.userId, id]],
    )
  },

  async 'a domain is verified with a record in a real DNS server'({ t, tour, world, dnsmasq }) {
    if (!canProveDomains(t)) return
    await tour.go(`${WEB}/domains/add`)
    await tour.look('domain-add')
    await tour.fill({ name: DOMAIN })
    await tour.press('Add domain')
    await tour.look('domain', true)
    const path = `/v9/projects/web/domains/${DOMAIN}?teamId=${world.credentials.teamId}` as const
    const [{ domain, value }] = (await world.call('GET', path)).body.verification
    for (const text of [domain, value]) await tour.page.getByText(text, { exact: true }).first().waitFor()
    await dnsmasq.serve({ domain, value: '"something else"' })
    await tour.press('Verify now')
    await tour.page.getByRole('alert').first().waitFor()
    await tour.look('domain-not-proven')
    await dnsmasq.serve({ domain, value: `"${value}"` })
    await tour.press('Verify now')
    await tour.page.getByText('Verified', { exact: true }).first().waitFor()
    assert.equal((await world.call('GET', path)).body.verified, true)
  },

  async 'a deployment is promoted, and the one before it is rolled back to'(scene) {
    const { tour, world, upstream } = scene
    const { projectId } = await productionOf(scene)
    const deploy = async (url: string) => {
      const wish = { url, target: 'production', readyState: 'READY', upstream }
      return (await world.operator('POST', `/operator/v1/projects/${projectId}/deployments`, wish)).body.id as string
    }
    const [first, second] = [await deploy('web-1.apps.example.net'), await deploy('web-2.apps.example.net')]
    // The newer one is in production: the names go back to the older one, and forth again.
    for (const [deployment, words] of [
      [first, 'Roll back'],
      [second, 'Promote'],
    ] as const) {
      await tour.go(`${WEB}/deployments/${deployment}`)
      await tour.look('deployment')
      await tour.follow(`${words}…`)
      await tour.look(words === 'Promote' ? 'promote' : 'roll-back')
      await tour.press(words)
      await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
      assert.equal((await productionOf(scene)).deploymentId, deployment)
    }
    await tour.go(`${WEB}/deployments`)
    await tour.look('deployments')
  },

  async 'a project is paused, visitors get a 503 through a real Caddy, and it goes on'({ t, tour, world }) {
    if (!canProveDomains(t) || !canRunCaddy(t)) return
    const edge = await openEdgeOf(world)
    const caddy = await startCaddy(t, { origin: edge.origin, token: EDGE_TOKEN })
    const visit = async () => {
      await edge.settle()
      return caddy.visit(DOMAIN)
    }
    assert.equal((await visit()).status, 200)
    await tour.go(WEB)
    await tour.page.locator('.head .menu > summary').click()
    await tour.follow('Pause…')
    await tour.look('pause')
    await tour.press('Pause project')
    await tour.page.getByText('Paused').first().waitFor()
    await tour.look('paused')
    const paused = await visit()
    assert.equal(paused.status, 503)
    assert.match(paused.text, /This site is paused/)
    await tour.press('Resume')
    await tour.look('project', true)
    assert.equal((await visit()).status, 200)
  },

  async 'what is looked for is found from any page'({ tour }) {
    await tour.go(`${WEB}/domains`)
    const field = tour.page.getByRole('searchbox', { name: 'Search', exact: true }).first()
    if (tour.script) {
      for (const keys of ['/', 'Control+k']) {
        await tour.page.locator('h1').click()
        await tour.page.keyboard.press(keys)
        const palette = tour.page.getByRole('dialog', { name: 'Search and commands' })
        await palette.getByRole('combobox').fill('api_k')
        await palette.getByRole('option', { name: 'API_KEY' }).first().waitFor()
        await palette.getByRole('combobox').fill('vari')
        await tour.page.keyboard.press('Escape')
        await palette.waitFor({ state: 'detached' })
      }
      await tour.page.keyboard.press('/')
      await tour.page.keyboard.type('variables')
      await tour.page.getByRole('option', { name: 'Variables' }).waitFor()
      await tour.page.keyboard.press('Enter')
      await tour.page.waitForURL(`**${WEB}/variables`)
    }
    await field.fill('key')
    await tour.submit(field)
    await tour.look('search', true)
    await tour.follow('API_KEY')
    await tour.page.getByRole('link', { name: 'Reveal API_KEY' }).waitFor()
    await tour.go('/console/search')
    await tour.look('search-empty')
  },
}

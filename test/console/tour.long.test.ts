/**
 * A walk through the console as a new user makes it, in a real Chromium over https, from the link of the first start on: with script, and
 * again without. To add a step, add a function to STEPS; it is called with the tour and what the steps before it left. With
 * BERTH_SCREENSHOTS=docs/images it takes the pictures of the pages again. docs/console.md: Tried in a browser.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PASSWORD } from '../support/clients/browser-client.ts'
import { findChromium, openChromium } from '../support/clients/chromium.ts'
import { MOST_BYTES, openTour, type Tour, weightOf } from '../support/clients/tour.ts'
import { lacking } from '../support/programs.ts'
import { noCertificates, openCertificates } from '../support/servers/certificates.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { openSmtp, type Smtp } from '../support/servers/smtp.ts'
import { ENGINES, type Engine, openWorld, type World } from '../support/world.ts'

const chromium = findChromium()
const VALUE = 'value-that-only-one-page-shows'
const TEAM = '/console/t/team'
const WEB = `${TEAM}/projects/web`
const OPERATOR = '/console/operator'

/** What the steps have in common. */
type Scene = { tour: Tour; world: World; dns: DnsServer; smtp: Smtp }

const STEPS: Record<string, (scene: Scene) => Promise<void>> = {
  async 'the first person sets a password by the link of the first start'({ tour, world }) {
    await tour.go(world.credentials.welcome)
    await tour.look('welcome')
    await tour.fill({ password: PASSWORD, again: PASSWORD })
    await tour.press('Begin')
    assert.match(tour.page.url(), /\/console\/t\/admin$/)
    await tour.look('no-projects')
  },

  async 'a project is made in the team'({ tour }) {
    await tour.go(`${TEAM}/new`)
    await tour.look('new-project')
    await tour.fill({ name: 'web' })
    await tour.press('Make the project')
    assert.match(tour.page.url(), /\/projects\/web$/)
    if (tour.script) assert.ok((await weightOf(tour.page)) <= MOST_BYTES, 'the page with its script')
  },

  async 'a .env text is pasted, its plan is seen, and it is applied'({ tour }) {
    await tour.go(`${WEB}/variables/import`)
    await tour.fill({ text: `API_KEY=${VALUE}\nREGION=eu` })
    tour.secret(VALUE, /\/variables\/(import|env_\w+)$/)
    await tour.look('env-file')
    await tour.press('Show the plan')
    await tour.look('plan')
    await tour.press(/^Apply 2 changes/)
    await tour.go(`${WEB}/variables`)
    await tour.page.getByText('API_KEY').first().waitFor()
    await tour.look('variables', true)
    await tour.follow(/^Reveal.*|^API_KEY/)
    assert.ok(tour.page.url().includes('/variables/env_') || tour.page.url().includes('/variables'))
  },

  async 'a domain is proven by a record in DNS'({ tour, world, dns }) {
    await tour.go(`${WEB}/domains/add`)
    await tour.look('domain-add')
    await tour.fill({ name: 'www.example.com' })
    await tour.press('Add')
    await tour.look('domain', true)
    const { body } = await world.call(
      'GET',
      `/v9/projects/web/domains/www.example.com?teamId=${world.credentials.teamId}`,
    )
    const [{ domain, value }] = body.verification
    dns.zones.set(domain, { txt: [[value]] })
    await tour.press('Verify now')
    await tour.page.getByText('Verified', { exact: true }).first().waitFor()
  },

  async 'a deployment is promoted, and the one before it is rolled back to'({ tour, world }) {
    const { id } = (await world.call('GET', `/v9/projects/web?teamId=${world.credentials.teamId}`)).body
    const deploy = async (url: string) => {
      const wish = { url, target: 'production', readyState: 'READY' }
      return (await world.operator('POST', `/operator/v1/projects/${id}/deployments`, wish)).body.id as string
    }
    const [first, second] = [await deploy('web-1.apps.example.net'), await deploy('web-2.apps.example.net')]
    // The newer one is in production: the names go back to the older one, and forth again.
    for (const [deployment, words] of [
      [first, 'Roll back to it'],
      [second, 'Promote to production'],
    ] as const) {
      await tour.go(`${WEB}/deployments/${deployment}`)
      await tour.look('deployment')
      await tour.press(words)
      await world.operator('POST', '/operator/v1/timers/alias-requests/run', {})
      const { targets } = (await world.call('GET', `/v9/projects/web?teamId=${world.credentials.teamId}`)).body
      assert.equal((targets as { production: { id: string } }).production.id, deployment)
    }
    await tour.go(`${WEB}/deployments`)
    await tour.look('deployments')
  },

  async 'a project is paused and goes on'({ tour }) {
    await tour.go(WEB)
    await tour.press('Pause the project')
    await tour.page.getByText('Paused').first().waitFor()
    await tour.look('paused')
    await tour.press('Bring it back online')
    await tour.look('project', true)
  },

  async 'somebody without an account is invited by mail, comes in, and joins the team'({ tour, world, smtp }) {
    await tour.go(`${TEAM}/members/invite`)
    await tour.fill({ email: 'ada@example.com' })
    await tour.look('invite-member')
    await tour.press('Invite')
    await tour.go(`${OPERATOR}/people/invite`)
    await tour.look('invite-person')
    await tour.fill({ email: 'ada@example.com', username: 'ada', name: 'Ada' })
    await tour.press('Invite')
    const [link] = /https:\/\/\S+\/set-password\?link=\w+/.exec(await tour.page.locator('main pre').innerText())!
    tour.secret(new URL(link).searchParams.get('link')!, /\/people\/invite$|\/set-password/)
    await world.deps.wakeups.mail()
    await tour.as(async (ada) => {
      await ada.go(link.slice(tour.origin.length))
      await ada.look('set-password')
      await ada.fill({ password: PASSWORD, again: PASSWORD })
      await ada.press('Set password')
      await ada.fill({ name: 'ada', password: PASSWORD })
      await ada.press('Sign in')
      await ada.go('/invitations')
      await ada.look('invitations')
      await ada.follow(/^Team/)
      await ada.look('invitation')
      await ada.press('Join the team')
      await ada.go(TEAM)
      await ada.page.getByText('web').first().waitFor()
    })
    assert.ok(smtp)
  },

  async 'a token is made, shown once, and revoked'({ tour }) {
    await tour.go('/console/account/tokens/new')
    await tour.look('new-token')
    await tour.fill({ name: 'of the tour' })
    await tour.press(/^Make the token|^Make/)
    const [token] = /berth_\w{40}/.exec(await tour.page.locator('main').innerText())!
    tour.secret(token, /\/account\/tokens/)
    await tour.go('/console/account/tokens')
    await tour.look('tokens')
    await tour.press(/of the tour/)
  },

  async 'a session that ends in the middle of a form keeps what was typed'({ tour, world }) {
    await tour.go(`${TEAM}/new`)
    await tour.fill({ name: 'kept-name' })
    for (const suspended of [true, false])
      assert.equal((await world.operator('PATCH', '/operator/v1/users/admin', { suspended })).status, 200)
    await tour.press('Make the project')
    await tour.look('sign-in-kept')
    await tour.fill({ name: 'admin', password: PASSWORD })
    await tour.press('Sign in')
    await tour.look('signed-in-kept')
    await tour.press('Back to what you typed')
    assert.equal(await tour.page.locator('main [name=name]').inputValue(), 'kept-name')
    await tour.press('Make the project')
    assert.match(tour.page.url(), /\/projects\/kept-name$/)
  },

  async 'the operator makes a backup, rotates a key, and suspends somebody'({ tour }) {
    await tour.go(OPERATOR)
    await tour.look('operator')
    await tour.go(`${OPERATOR}/backups`)
    await tour.press('Make a backup')
    for (let tries = 0; tries < 100 && (await tour.page.getByText(/berth-.*\.db/).count()) === 0; tries++) {
      await tour.page.waitForTimeout(100)
      await tour.go(`${OPERATOR}/backups`)
    }
    await tour.look('backups')
    await tour.go(`${OPERATOR}/keys`)
    await tour.look('keys')
    await tour.press('Make a new key active')
    await tour.page.getByText('Older').first().waitFor()
    await tour.go(`${OPERATOR}/people`)
    await tour.look('people', true)
    await tour.follow('ada')
    await tour.look('person')
    await tour.press('Suspend')
    await tour.page.getByText('Suspended').first().waitFor()
    for (const section of [
      'teams',
      'tokens',
      'integrations',
      'timers',
      'deliveries',
      'audit',
      'audit/verify',
      'health',
    ]) {
      await tour.go(`${OPERATOR}/${section}`)
      await tour.look(section)
    }
  },
}

async function walk(t: TestContext, engine: Engine, script: boolean): Promise<void> {
  if (chromium === undefined) return t.skip(lacking('chromium', 'chromium', 'whether a new user finds their way'))
  if (noCertificates) return t.skip(lacking('openssl', 'openssl', 'whether a new user finds their way'))
  const { cert, key } = openCertificates(t).make('tour')
  const [dns, smtp] = [await startDnsServer(), await openSmtp()]
  const world = await openWorld(engine, {
    BERTH_TLS_CERT: cert,
    BERTH_TLS_KEY: key,
    BERTH_DNS_SERVERS: dns.address,
    BERTH_SMTP_URL: smtp.url,
    BERTH_MAIL_FROM: 'berth@example.com',
  })
  const browser = await openChromium(chromium)
  try {
    const origin = await world.listen()
    const isFirst = engine === 'sqlite'
    const tour = await openTour(browser, origin, { script, axe: isFirst, pictures: script && isFirst })
    for (const secret of [world.credentials.token, world.credentials.operatorToken, PASSWORD]) tour.secret(secret, /^$/)
    for (const [name, step] of Object.entries(STEPS)) await t.test(name, () => step({ tour, world, dns, smtp }))
    tour.end()
  } finally {
    await browser.close()
    await world.close()
    await Promise.all([dns.close(), smtp.close()])
  }
}

for (const engine of ENGINES)
  for (const script of [true, false])
    test(
      `a new user finds their way through the console, ${script ? 'with' : 'without'} script [${engine}]`,
      { timeout: 600_000 },
      (t) => walk(t, engine, script),
    )

/**
 * Every form of a team's and a person's pages: whatever is typed, the answer is a page with what was typed, no fault, and no markup of the
 * person's own; nobody without the right does anything by it, and no id of another account opens anything. docs/console.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONSOLE } from '../../../src/console/screens.ts'
import { type Client, type Fields, signedIn } from '../../support/clients/browser-client.ts'
import { TYPED } from '../../support/clients/typed-texts.ts'
import { digest } from '../../support/digest.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { makeInstallation } from '../../support/worlds/integration-world.ts'

const APP = { name: 'Helper', redirectUrl: 'https://app.example.com/back', 'level-project': 'read' }
const DRAIN = { url: 'https://logs.example.com', format: 'json', sources: ['edge'], environments: ['preview'] }
const TEAM = { name: 'Team', slug: 'team', sensitive: 'default' }

/** TABLE the forms by the end of their address: the fields that people type into, and others that they need. */
const FORMS: Record<string, { typed: readonly string[]; with?: Fields }> = {
  't/:slug/integrations/:id/projects': { typed: ['project'] },
  't/:slug/integrations/:id/projects/:projectId/remove': { typed: [] },
  't/:slug/integrations/:id/uninstall': { typed: [] },
  't/:slug/apps/new': {
    typed: ['slug', 'name', 'redirectUrl', 'webhookUrl', 'logoUrl'],
    with: { 'level-domain': 'read' },
  },
  't/:slug/apps/:id/change': { typed: ['name', 'redirectUrl', 'webhookUrl', 'logoUrl', 'level-team'], with: APP },
  't/:slug/apps/:id/secrets': { typed: [] },
  't/:slug/apps/:id/secrets/:secretId/delete': { typed: [] },
  't/:slug/apps/:id/delete': { typed: [] },
  't/:slug/webhooks/new': { typed: ['url', 'events', 'projectIds'] },
  't/:slug/webhooks/:id/test': { typed: [] },
  't/:slug/webhooks/:id/replay': { typed: ['hours', 'status'] },
  't/:slug/webhooks/:id/enable': { typed: [] },
  't/:slug/webhooks/:id/take-over': { typed: [] },
  't/:slug/webhooks/:id/delete': { typed: [] },
  't/:slug/webhooks/:id/deliveries/:deliveryId/replay': { typed: [] },
  't/:slug/drains/new': { typed: ['name', 'url', 'format', 'headers', 'sources'], with: DRAIN },
  't/:slug/drains/new/test': { typed: ['url', 'headers'], with: { ...DRAIN, name: 'logs' } },
  't/:slug/drains/:id/enable': { typed: [] },
  't/:slug/drains/:id/disable': { typed: [] },
  't/:slug/drains/:id/take-over': { typed: [] },
  't/:slug/drains/:id/delete': { typed: [] },
  't/:slug/drains/:id/deliveries/:deliveryId/replay': { typed: [] },
  't/:slug/members/invite': { typed: ['email', 'role'] },
  't/:slug/members/:uid/role': { typed: ['role'] },
  't/:slug/members/:uid/remove': { typed: [] },
  't/:slug/members/:uid/leave': { typed: [] },
  't/:slug/settings': { typed: ['name', 'slug', 'description', 'sensitive'], with: TEAM },
  'teams/new': { typed: ['name', 'slug'] },
  account: { typed: ['name', 'username'] },
  'account/email': { typed: [] },
  'account/email/change': { typed: ['email'] },
  'account/security/password': { typed: ['password', 'next', 'again'] },
  'account/security/sessions/others/end': { typed: [] },
  'account/security/sessions/:sessionId/end': { typed: [] },
  'account/tokens/new': { typed: ['name', 'account', 'project', 'days', 'level-project'] },
  'account/tokens/:id/end': { typed: [] },
}
/** Forms that show nothing again: a password is typed again, and a role that is none of the five has no place in the list. */
const NOT_SHOWN = new Set(['account/security/password', 't/:slug/members/:uid/role'])

/** Without a mail server there is no form for another email. */
const MAIL = { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'berth@example.com' }

const START = '/console/'
const OURS =
  /^(t\/:slug\/(integrations|apps|webhooks|drains|members|settings)(\/|$)|teams\/|account($|\/(email|security\/(password|sessions)|tokens)))/

function forms(): string[] {
  return CONSOLE.filter(({ method, path }) => method === 'POST' && path.startsWith(START))
    .map(({ path }) => path.slice(START.length))
    .filter((path) => OURS.test(path))
}

test('the table has every form of a team and of a person, once', () => {
  assert.deepEqual(forms().sort(), Object.keys(FORMS).sort())
})

/** Something for each form, in the first team. `fill` writes the address of a form there. */
async function open(world: World) {
  const { teamId, userId } = world.credentials
  const team = `teamId=${teamId}` as const
  const { id: projectId } = (await world.call('POST', `/v10/projects?${team}`, { name: 'web' })).body
  const { installationId, app } = await makeInstallation(world, {}, { projects: [projectId] })
  const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
  const webhookId = (await world.call('POST', `/v1/webhooks?${team}`, hook)).body.id
  await world.call('POST', `/v10/projects?${team}`, { name: 'told' })
  const [delivery] = (await world.call('GET', `/v1/webhooks/${webhookId}/deliveries?${team}`)).body.deliveries
  const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
  const drainId = (await world.call('POST', `/v1/log-drains?${team}`, drain)).body.id
  const idOf = (path: string) => {
    if (path.includes('/integrations/')) return installationId
    if (path.includes('/apps/')) return app.id
    return path.includes('/webhooks/') ? webhookId : drainId
  }
  const fill = (path: string) =>
    `${START}${path}`
      .replace(':slug', 'team')
      .replace(':projectId', projectId)
      .replace(':secretId', app.secretId)
      .replace(':deliveryId', delivery.id)
      .replace(':sessionId', '0123456789abcdef')
      .replace(':uid', userId)
      .replace(':id', path.includes('tokens') ? 'tok_none' : idOf(path))
  return { fill }
}

async function typeInto(client: Client, url: string, form: (typeof FORMS)[string], text: string) {
  const typed = Object.fromEntries(form.typed.map((name) => [name, text]))
  return client.post(url, { ...form.with, ...typed })
}

onBothEngines('whatever is typed into a form comes back as text beside what is wrong with it', typeAll, MAIL)

async function typeAll(world: World): Promise<void> {
  const { fill } = await open(world)
  const client = await signedIn(world)
  await client.get('/console/account')
  for (const path of forms().filter((one) => FORMS[one]!.typed.length > 0)) {
    for (const text of TYPED) {
      const answer = await typeInto(client, fill(path), FORMS[path]!, text)
      const said = `${path} ${JSON.stringify(text.slice(0, 30))}: ${answer.status}`
      assert.ok([303, 400, 403, 404, 409, 422, 429].includes(answer.status), `${said} ${answer.text.slice(-2000)}`)
      assert.doesNotMatch(answer.text, /<script>alert/, said)
      if (answer.status === 303) continue
      assert.match(answer.text, /role="alert"/, said)
      assert.match(answer.text, /<body class="console">/, `${said}: the page of the form`)
      if (text.startsWith('😀') && !NOT_SHOWN.has(path))
        assert.ok(answer.text.includes(text), `${said}: what was typed is kept`)
    }
  }
}

onBothEngines('a form that lacks all of its fields comes back as a page', async (world) => {
  const { fill } = await open(world)
  const client = await signedIn(world)
  await client.get('/console/account')
  for (const path of forms().filter((one) => FORMS[one]!.typed.length > 0)) {
    const answer = await client.post(fill(path))
    assert.match(answer.text, /<body class="console">[\s\S]*role="alert"/, `${path}: ${answer.status}`)
  }
})

onBothEngines(
  'whoever only sees a team changes nothing by its forms, and a stranger does not find them',
  async (world) => {
    const { fill } = await open(world)
    const guest = await world.user('guest')
    await world.join(guest, 'VIEWER')
    const viewer = await signedIn(world, guest.id, 'guest')
    const other = await world.user('other')
    const stranger = await signedIn(world, other.id, 'other')
    await viewer.get('/console/t/team')
    await stranger.get('/console/account')
    const before = await digest(world)
    for (const path of forms().filter((one) => one.startsWith('t/'))) {
      const form = FORMS[path]!
      const refused = await viewer.post(fill(path), {
        ...form.with,
        ...Object.fromEntries(form.typed.map((name) => [name, '1'])),
      })
      assert.ok([400, 403, 404].includes(refused.status), `${path}: ${refused.status}`)
      const nowhere = await stranger.post(fill(path), form.with)
      assert.equal(nowhere.status, 404, path)
      const forged = await viewer.post(fill(path), { ...form.with, form: 'forged' })
      assert.equal(forged.status, 403, path)
    }
    assert.equal(await digest(world), before)
  },
)

onBothEngines('the ids of another account open nothing in one of your own', async (world) => {
  const { fill } = await open(world)
  const guest = await world.user('guest')
  const client = await signedIn(world, guest.id, 'guest')
  await client.get('/console/teams/new')
  assert.equal((await client.post('/console/teams/new', { slug: 'crew' })).status, 303)
  const before = await digest(world)
  for (const path of forms().filter(
    (one) => one.startsWith('t/') && one.slice(8).includes(':') && !one.includes(':uid'),
  )) {
    const url = fill(path).replace('/t/team/', '/t/crew/')
    const answer = await client.post(url, { ...FORMS[path]!.with, project: 'web', hours: '24', status: 'failed' })
    assert.equal(answer.status, 404, url)
  }
  assert.equal(await digest(world), before)
})

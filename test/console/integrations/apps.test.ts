/** Apps in the console: registered with a secret that is shown once, changed, given a second secret, installed, tried and removed. docs/console.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { consentAndInstall, seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const APP = {
  slug: 'helper',
  name: 'Helper 🚢',
  redirectUrl: 'https://app.example.com/callback',
  'level-project': 'read',
}

onBothEngines(
  'an app is registered, changed, given a second secret, tested and deleted',
  async (world, t) => {
    const to = await receiver(t)
    const client = await openSignedInClient(world)
    const path = '/console/t/team/apps'
    assert.match((await client.get(path)).text, /No apps yet/)
    await client.get(`${path}/new`)
    const made = await client.post(`${path}/new`, { ...APP, webhookUrl: to.url })
    assert.equal(made.status, 200, made.text)
    const [, secret] = /<pre class="secret">([^<]+)</.exec(made.text)!
    const [id] = /oac_\w+/.exec(made.text)!
    const one = `${path}/${id}`
    const shown = await client.get(one)
    assert.match(shown.text, /Helper 🚢/)
    assert.match(shown.text, /read:project/)
    assert.match(shown.text, /No installations yet/)
    for (const { text } of [made, shown]) assert.match(text, /aria-label="Copy the client ID"/)
    assert.doesNotMatch((await client.get(path)).text + shown.text, new RegExp(secret!))

    const change = await client.get(`${one}/change`)
    assert.match(change.text, /<option value="read" selected>Read</)
    const wrong = await client.post(`${one}/change`, { ...APP, redirectUrl: 'ftp://nowhere' })
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /id="redirectUrl-fault"><svg.*?<\/svg><span>“Redirect URL” should begin/)
    assert.match(wrong.text, /value="ftp:\/\/nowhere"/)
    const changed = await client.post(`${one}/change`, { ...APP, webhookUrl: to.url, 'level-domain': 'read-write' })
    assert.equal(changed.location, one, changed.text)
    assert.match((await client.get(one)).text, /read-write:domain/)

    await client.get(`${one}/secrets`)
    const second = await client.post(`${one}/secrets`)
    const [, other] = /<pre class="secret">([^<]+)</.exec(second.text)!
    assert.notEqual(other, secret)
    const [first] = /secrets\/(\w+)\/delete/.exec((await client.get(one)).text)!.slice(1)
    assert.equal((await client.post(`${one}/secrets/${first}/delete`)).location, one)
    const last = /secrets\/(\w+)\/delete/.exec((await client.get(one)).text)![1]
    const kept = await client.post(`${one}/secrets/${last}/delete`)
    assert.equal(kept.status, 409)
    assert.match(kept.text, /role="alert"/)

    const [webhook] = /webhooks\/(hook_\w+)/.exec((await client.get(one)).text)!.slice(1)
    const tried = await client.post(`${path.replace('apps', 'webhooks')}/${webhook}/test`)
    assert.match(tried.text, /Delivered: the endpoint returned 200/, tried.text)
    assert.equal(to.got[0]!.body.type, 'webhook.test')

    await consentAndInstall(world, { id: id!, clientId: id!, clientSecret: other!, secretId: '', slug: 'helper' })
    assert.match((await client.get(one)).text, /icfg_\w+/)
    const installed = (await client.get(one)).text
    assert.match(installed, /Each account above must uninstall it first/)
    assert.doesNotMatch(installed, /Remove app/, 'no button is there that can only be refused')
    assert.equal((await client.post(`${one}/delete`)).status, 409, 'it is installed')
  },
  { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' },
)

onBothEngines('an installed integration is shown with its permissions and projects, and is removed', async (world) => {
  const client = await openSignedInClient(world)
  const team = `?teamId=${world.credentials.teamId}` as const
  const { id: projectId } = (await world.call('POST', `/v10/projects${team}`, { name: 'web' })).body
  await world.call('POST', `/v10/projects${team}`, { name: 'shop' })
  const list = '/console/t/team/integrations'
  assert.match((await client.get(list)).text, /No integrations installed/)
  const { app, installationId } = await seedInstallation(world, {}, { projects: [projectId] })
  assert.match(
    (await client.get(list)).text,
    /Helper[\s\S]*<span class="state good"><svg.*?<\/svg>Active<[\s\S]*1 project /,
  )
  await world.call('PATCH', `/v1/integrations/apps/${app.id}${team}`, { scopes: ['read-write:project', 'read:user'] })
  assert.match((await client.get(list)).text, /<span class="state warn"><svg.*?<\/svg>Requests more access</)
  const one = `${list}/${installationId}`
  const shown = await client.get(one)
  assert.match(shown.text, /See projects, change their settings/)
  assert.match(shown.text, /<td[^>]*>web<\/td>/)
  const wrong = await client.post(`${one}/projects`, { project: 'nowhere' })
  assert.equal(wrong.status, 404)
  assert.match(wrong.text, /value="nowhere"/)
  assert.equal((await client.post(`${one}/projects`, { project: 'shop' })).location, one)
  assert.match((await client.get(one)).text, /<td[^>]*>shop<\/td>/)
  assert.equal((await client.post(`${one}/projects/${projectId}/remove`)).location, one)
  assert.doesNotMatch((await client.get(one)).text, /<td[^>]*>web<\/td>/)
  assert.equal((await client.post(`${one}/uninstall`)).location, list)
  assert.match((await client.get(list)).text, /No integrations installed/)
})

onBothEngines(
  'a member sees the deliveries of an app of the team, and is offered nothing that its owner alone may do',
  async (world, t) => {
    const to = await receiver(t)
    const app = await seedIntegration(world, { webhookUrl: to.url })
    await consentAndInstall(world, app)
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    await deliver(world)
    const guest = await world.user('guest')
    await world.join(guest, 'MEMBER')
    const [owner, member] = [await openSignedInClient(world), await openSignedInClient(world, guest.id, 'guest')]
    const ofApp = (await member.get(`/console/t/team/apps/${app.id}`)).text
    const [, webhook] = /href="([^"]*\/webhooks\/hook_\w+)"/.exec(ofApp)!
    const [, delivery] = new RegExp(`href="(${webhook}/deliveries/[^"]+)"`).exec((await member.get(webhook!)).text)!
    const [theirs, own] = [await member.get(delivery!), await owner.get(delivery!)]
    assert.doesNotMatch(theirs.text, /action="[^"]*\/replay"/)
    assert.match(theirs.text, /Your role cannot see it\./)
    assert.match(own.text, /action="[^"]*\/replay"/)
    for (const { text } of [theirs, own]) assert.match(text, /href="\/console\/t\/team\/apps"[^>]* aria-current="page"/)
  },
  LOCAL,
)

onBothEngines('the page of an installation shows 100 of its projects at a time', async (world) => {
  const web = await seedProject(world, 'web', `?teamId=${world.credentials.teamId}`)
  const { installationId } = await seedInstallation(world, {}, { projects: [web] })
  const rows = Array.from({ length: 250 }, (_, at) => ({ configuration_id: installationId, project_id: `prj_${at}` }))
  await addRows(world, 'configuration_project', rows)
  const client = await openSignedInClient(world)
  const path = `/console/t/team/integrations/${installationId}`
  const shown = async (query: string) => {
    const { text } = await client.get(`${path}${query}`)
    const ids = [...text.matchAll(/\/projects\/(\w+)\/remove"/g)].map(([, id]) => id!)
    return { text, ids }
  }
  const pages = [await shown(''), await shown('?from=100'), await shown('?from=200')]
  assert.deepEqual(
    pages.map(({ ids }) => ids.length),
    [100, 100, 51],
  )
  assert.equal(new Set(pages.flatMap(({ ids }) => ids)).size, 251)
  const links = pages.map(({ text }) => [...text.matchAll(/href="[^"]*\?from=(\d+)"/g)].map(([, from]) => from))
  assert.deepEqual(links, [['100'], ['200'], []])
  assert.match(pages[0]!.text, /251 projects/)
  for (const other of ['?from=', '?from=x', '?from=-0'])
    assert.deepEqual((await shown(other)).ids, pages[0]!.ids, other)
})

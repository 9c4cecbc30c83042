/** The forms of a team's pages: they do nothing for a user without the permission, and accept no id of another account. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { type Fields, openSignedInClient } from '../../support/clients/browser-client.ts'
import { digest } from '../../support/stores/digest.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'
import { FORMS, formsBelow } from '../form-table.ts'

const START = '/console/'

/** The forms of a team. */
function forms(): string[] {
  const ours = /^t\/:slug\/(integrations|apps|webhooks|drains|members|settings)(\/|$)/
  return formsBelow(START, ours).map((path) => path.slice(START.length))
}

/** What a good form holds. */
function goodOf(path: string): Fields {
  return (FORMS[`${START}${path}`]!.good ?? {}) as Fields
}

/** Something for each form, in the first team. `fill` writes the address of a form there. */
async function open(world: World) {
  const { teamId, userId } = world.credentials
  const team = `teamId=${teamId}` as const
  const { id: projectId } = (await world.call('POST', `/v10/projects?${team}`, { name: 'web' })).body
  const { installationId, app } = await seedInstallation(world, {}, { projects: [projectId] })
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

onBothEngines(
  'the forms of a team change nothing for a viewer, and a user who is not a member gets 404',
  async (world) => {
    const { fill } = await open(world)
    const guest = await world.user('guest')
    await world.join(guest, 'VIEWER')
    const viewer = await openSignedInClient(world, guest.id, 'guest')
    const other = await world.user('other')
    const stranger = await openSignedInClient(world, other.id, 'other')
    await viewer.get('/console/t/team')
    await stranger.get('/console/account')
    const before = await digest(world)
    for (const path of forms()) {
      const refused = await viewer.post(fill(path), goodOf(path))
      assert.ok([400, 403, 404].includes(refused.status), `${path}: ${refused.status}`)
      const nowhere = await stranger.post(fill(path), goodOf(path))
      assert.equal(nowhere.status, 404, path)
      const forged = await viewer.post(fill(path), { ...goodOf(path), form: 'forged' })
      assert.equal(forged.status, 403, path)
    }
    assert.equal(await digest(world), before)
  },
)

onBothEngines('the ids of another account open nothing in one of your own', async (world) => {
  const { fill } = await open(world)
  const guest = await world.user('guest')
  const client = await openSignedInClient(world, guest.id, 'guest')
  await client.get('/console/teams/new')
  assert.equal((await client.post('/console/teams/new', { slug: 'crew' })).status, 303)
  const before = await digest(world)
  for (const path of forms().filter((one) => one.slice(8).includes(':') && !one.includes(':uid'))) {
    const url = fill(path).replace('/t/team/', '/t/crew/')
    const answer = await client.post(url, { ...goodOf(path), project: 'web' })
    assert.equal(answer.status, 404, url)
  }
  assert.equal(await digest(world), before)
})

/** A webhook is changed, and its events are chosen by group. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { EVENT_NAMES } from '../../../src/events.ts'
import { type Client, openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const WEBHOOKS = '/console/t/team/webhooks'
const OF_DEPLOYMENTS = EVENT_NAMES.filter((name) => name.startsWith('deployment.'))

async function open(world: World, hook: object) {
  const { teamId } = world.credentials
  const { id } = (await world.call('POST', `/v1/webhooks?teamId=${teamId}`, hook)).body
  const read = async () => (await world.call('GET', `/v1/webhooks/${id}?teamId=${teamId}`)).body
  return { client: await openSignedInClient(world), edit: `${WEBHOOKS}/${id}/edit`, read, teamId }
}

/** What the form says it showed first. */
async function wasOf(client: Client, edit: string): Promise<string> {
  const { text, status } = await client.get(edit)
  assert.equal(status, 200, text)
  return /name="was" value="([^"]*)"/.exec(text)![1]!.replaceAll('&amp;', '&')
}

onBothEngines(
  'the box of a group stands for its events, in a new webhook and in one that is changed',
  async (world) => {
    const url = 'https://hooks.example.com'
    const { client, edit, read } = await open(world, { url, events: ['project.created'] })
    const form = await client.get(`${WEBHOOKS}/new`)
    assert.match(
      form.text,
      /<legend>Deployments<\/legend><label class="choice"><input type="checkbox" name="groups" value="deployment"> All of Deployments</,
    )
    const made = await client.post(`${WEBHOOKS}/new`, {
      url,
      groups: 'deployment',
      events: ['deployment.ready', 'project.created'],
    })
    const id = /\/webhooks\/(\w+)"[^>]*>Go to webhook/.exec(made.text)?.[1] ?? assert.fail(made.text)
    const { body } = await world.call('GET', `/v1/webhooks/${id}?teamId=${world.credentials.teamId}`)
    assert.deepEqual(body.events.toSorted(), [...OF_DEPLOYMENTS, 'project.created'].toSorted())
    const was = await wasOf(client, edit)
    const saved = await client.post(edit, { was, url, events: 'project.created', groups: 'deployment' })
    assert.equal(saved.location, edit.slice(0, -'/edit'.length), saved.text)
    assert.deepEqual((await read()).events.toSorted(), [...OF_DEPLOYMENTS, 'project.created'].toSorted())
    const unknown = await client.post(`${WEBHOOKS}/new`, { url, groups: ['nothing', 'deployment'] })
    assert.equal(unknown.status, 400)
    assert.match(unknown.text, /there is no event[\s\S]*value="deployment" checked> All of Deployments/)
    const none = await client.post(`${WEBHOOKS}/new`, { url })
    assert.match(none.text, /“Events” should not be empty/)
  },
)

onBothEngines(
  'URL, events and projects of a webhook are changed, and what is not changed is not sent',
  async (world) => {
    const url = 'https://hooks.example.com/one'
    const { id: projectId } = (
      await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    ).body
    const { client, edit, read } = await open(world, {
      url,
      events: ['project.created', 'deployment.succeeded'],
      projectIds: [projectId],
    })
    const page = (await client.get(edit)).text
    assert.match(page, new RegExp(`name="projectIds" value="${projectId}" checked`))
    const was = await wasOf(client, edit)
    const shown = new URLSearchParams(was)
    assert.deepEqual(shown.getAll('events').toSorted(), ['deployment.succeeded', 'project.created'])
    const same = { was, url, events: shown.getAll('events'), projectIds: projectId }
    const before = await read()
    await client.post(edit, same)
    assert.deepEqual(await read(), before)
    assert.equal((await client.post(edit, { ...same, url: `${url}/two` })).status, 303)
    assert.deepEqual([(await read()).url, (await read()).projectIds], [`${url}/two`, [projectId]])
    const { projectIds: _, ...all } = same
    await client.post(edit, { ...all, was: await wasOf(client, edit), url: `${url}/two` })
    const { projectIds, events } = await read()
    assert.deepEqual([projectIds, events.length], [undefined, 2])
  },
)

onBothEngines('a private URL is refused with the setting that allows it', async (world) => {
  const { client, edit } = await open(world, { url: 'https://hooks.example.com', events: ['project.created'] })
  await client.get(edit)
  const refused = await client.post(edit, { url: 'https://127.0.0.1/', events: 'project.created' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /id="url-fault"[\s\S]*private, local or reserved; [^<]*BERTH_ALLOW_PRIVATE_WEBHOOKS=1/)
})

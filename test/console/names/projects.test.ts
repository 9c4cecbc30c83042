/** Webhooks, log drains and tokens of some projects name these, and an operator sees the team of an app. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

const HTTP = { type: 'http', endpoint: 'https://logs.example.com/in', encoding: 'json', headers: {} }

onBothEngines('what is limited to projects names them, and a project that is gone by its id', async (world) => {
  const { teamId } = world.credentials
  const web = await seedProject(world, 'web', `?teamId=${teamId}`)
  const gone = await seedProject(world, 'gone', `?teamId=${teamId}`)
  const projectIds = [web, gone]
  const hook = { url: 'https://hooks.example.com', events: ['project.created'], projectIds }
  const webhook = await world.call('POST', `/v1/webhooks?teamId=${teamId}`, hook)
  const schemas = { log: { version: 'v1' } }
  const drain = await world.call('POST', `/v1/drains?teamId=${teamId}`, {
    name: 'logs',
    projects: 'some',
    projectIds,
    schemas,
    delivery: HTTP,
  })
  for (const projectId of projectIds)
    await world.call('POST', `/v3/user/tokens?teamId=${teamId}`, { name: `ci ${projectId}`, projectId })
  assert.equal((await world.call('DELETE', `/v9/projects/${gone}?teamId=${teamId}`)).status, 204)

  const client = await openSignedInClient(world)
  const team = '/console/t/team'
  const link = `<a href="${team}/projects/web" title="${web}">web</a>`
  const pages = [`${team}/webhooks/${webhook.body.id}`, `${team}/drains/${drain.body.id}`]
  for (const path of [...pages, `${team}/tokens`, '/console/account/tokens']) {
    const { status, text } = await client.get(path)
    assert.equal(status, 200, text)
    assert.ok(text.includes(link), path)
    assert.ok(!text.includes(`>${web}<`), path)
  }
  const { text } = await client.get('/console/account/tokens')
  assert.ok(text.includes(`<code>${gone}</code>`), text)

  const guest = await world.user('guest')
  await world.join(guest, 'MEMBER')
  await guest.call('POST', `/v3/user/tokens?teamId=${teamId}`, { name: 'ci', projectId: web })
  await world.call('PATCH', `/v1/teams/${teamId}/members/${guest.id}`, { role: 'BILLING' })
  const theirs = await (await openSignedInClient(world, guest.id, 'guest')).get('/console/account/tokens')
  assert.ok(theirs.text.includes(`<code>${web}</code>`), 'a role without projects')
})

onBothEngines('an operator sees the name of the team of an app', async (world) => {
  const { teamId } = world.credentials
  await seedIntegration(world, { slug: 'sentinel', name: 'Sentinel' })
  const { text } = await (await openSignedInClient(world)).get('/console/operator/integrations')
  assert.ok(text.includes(`<a href="/console/operator/teams/${teamId}" title="${teamId}">team</a>`), text)
})

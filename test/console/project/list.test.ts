/** The list of projects in the console, and making one. docs/console.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('a user creates a project and finds it in the list', async (world) => {
  const client = await openSignedInClient(world)
  const home = await client.get('/console')
  assert.equal(home.status, 303)
  const empty = await client.get(home.location)
  assert.equal(empty.status, 200, empty.text)
  assert.match(empty.text, /No projects yet/)
  assert.match(empty.text, /<pre>npx berth link-cli --team team<\/pre>/)
  assert.match((await client.get('/console/t/admin')).text, /<pre>npx berth link-cli<\/pre>/)
  assert.doesNotMatch(empty.text, /Search projects by name/)
  await client.get(`${home.location}/new`)
  const refused = await client.post(`${home.location}/new`, { name: 'Not A Name' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /role="alert"/)
  assert.match(refused.text, /value="Not A Name"/)
  const made = await client.post(`${home.location}/new`, { name: 'web' })
  assert.deepEqual([made.status, made.location], [303, `${home.location}/projects/web`], made.text)
  assert.match((await client.get(home.location)).text, />web</)
  const again = await client.post(`${home.location}/new`, { name: 'web' })
  assert.equal(again.status, 409)
  assert.match(again.text, /id="name" name="name" value="web"[^>]*aria-invalid="true"/)
})

onBothEngines(
  'the console opens the account of before, else the default team, or the only team of a user without projects',
  async (world) => {
    const homeOf = async (client: Awaited<ReturnType<typeof openSignedInClient>>) =>
      (await client.get('/console')).location
    const client = await openSignedInClient(world)
    assert.equal(await homeOf(client), '/console/t/team', 'the default team of the first user')
    await client.get('/console/t/admin')
    assert.equal(await homeOf(client), '/console/t/admin')
    const lena = await world.user('lena')
    const other = await openSignedInClient(world, lena.id, 'lena')
    assert.equal(await homeOf(other), '/console/t/lena')
    await world.join(lena, 'MEMBER')
    assert.equal(await homeOf(other), '/console/t/team')
    await other.get('/console/t/lena/new')
    assert.equal((await other.post('/console/t/lena/new', { name: 'own' })).status, 303)
    await other.get('/console/t/team')
    assert.equal(await homeOf(other), '/console/t/team', 'opened last, although there is a project of her own')
    await world.operator('DELETE', `/operator/v1/teams/${world.credentials.teamId}/members/${lena.id}`)
    assert.equal(await homeOf(other), '/console/t/lena', 'an account that the user lost is not opened')
  },
)

onBothEngines('the first page names three teams with a pending invitation, and links to all', async (world) => {
  const rival = await world.user('rival')
  for (let at = 1; at <= 4; at++) {
    const { body } = await world.operator('POST', '/operator/v1/teams', {
      slug: `team-${at}`,
      name: `N${at}`,
      ownerId: rival.id,
    })
    if (at === 4)
      assert.doesNotMatch(
        (await (await openSignedInClient(world)).get('/console/t/admin')).text,
        /Show all invitations/,
      )
    await rival.call('POST', `/v1/teams/${body.id}/members`, { uid: world.credentials.userId, role: 'VIEWER' })
  }
  const { text } = await (await openSignedInClient(world)).get('/console/t/admin')
  assert.deepEqual(
    [...text.matchAll(/You're invited to join (N\d) \(team-\d\) as Viewer/g)].map(([, name]) => name),
    ['N4', 'N3', 'N2'],
  )
  assert.match(text, /<a href="\/invitations">Show all invitations/)
})

onBothEngines('projects of which a deployment failed, and paused ones, come before newer ones', async (world) => {
  const client = await openSignedInClient(world)
  const create = async (name: string, readyState?: 'READY' | 'ERROR') => {
    const { id } = (await world.call('POST', '/v10/projects', { name })).body
    if (readyState !== undefined) await seedDeployment(world, id, { url: `${name}.host.test`, readyState })
    return id
  }
  await create('failed', 'ERROR')
  await world.call('POST', `/v1/projects/${await create('paused')}/pause`)
  await create('live', 'READY')
  await create('empty')
  const { projects } = (await world.call('GET', '/v9/projects')).body
  assert.deepEqual(
    projects.map(({ name }) => name),
    ['empty', 'live', 'paused', 'failed'],
  )
  const cards = (await client.get('/console/t/admin')).text.matchAll(/<h2 class="cut"><a class="to"[^>]*>(\w+)</g)
  assert.deepEqual(
    [...cards].map(([, name]) => name),
    ['paused', 'failed', 'empty', 'live'],
  )
})

onBothEngines('the list shows the total, can be searched, and continues after a page', async (world) => {
  const client = await openSignedInClient(world)
  for (let at = 1; at <= 25; at++) await world.call('POST', '/v10/projects', { name: `web-${at}` })
  const first = (await client.get('/console/t/admin')).text
  assert.match(first, /<h1>Projects <span class="soft">25</)
  assert.match(first, /Search projects by name/)
  assert.equal(first.match(/<li class="card hit">/g)?.length, 20)
  const [, older] = /href="([^"]*until[^"]*)">Older/.exec(first)!
  const second = (await client.get(older!.replaceAll('&amp;', '&'))).text
  assert.equal(second.match(/<li class="card hit">/g)?.length, 5)
  assert.match(second, />web-1</)
  assert.match((await client.get('/console/t/admin?search=web')).text, /\?search=web&amp;until=\d+">Older/)
  const found = (await client.get('/console/t/admin?search=WEB-25')).text
  assert.equal(found.match(/<li class="card hit">/g)?.length, 1)
  assert.match((await client.get('/console/t/admin?search=%F0%9F%98%80')).text, /No projects match “😀”/)
})

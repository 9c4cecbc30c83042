/** Variables in the console: no value is in the list, and a page shows one only to a user who gave their password recently. docs/console.md. */
import assert from 'node:assert/strict'
import { openSignedInClient, PASSWORD } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const SECRET = 'not-to-be-seen-in-lists'

onBothEngines('a variable is added, listed without its value, revealed and deleted', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const path = '/console/t/admin/projects/web/variables'
  assert.match((await client.get(path)).text, /No variables yet/)
  await client.get(`${path}/new`)
  const refused = await client.post(`${path}/new`, {
    key: '1BAD',
    value: SECRET,
    target: ['production'],
    type: 'encrypted',
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /role="alert"/)
  assert.match(refused.text, /value="1BAD"/)
  assert.match(refused.text, new RegExp(`>\\n${SECRET}</textarea>`), 'what was typed is kept')
  const added = await client.post(`${path}/new`, {
    key: 'TOKEN',
    value: SECRET,
    target: ['production'],
    type: 'encrypted',
  })
  assert.deepEqual([added.status, added.location], [303, path], added.text)
  const list = await client.get(path)
  assert.match(list.text, /TOKEN/)
  assert.doesNotMatch(list.text, new RegExp(SECRET))
  const [id] = /env_\w+/.exec(list.text) ?? []
  const revealed = await client.get(`${path}/${id}`)
  assert.match(revealed.text, new RegExp(SECRET))
  assert.doesNotMatch(revealed.text, /berth-live/, 'a value is read only when a user asks')
  assert.match(revealed.text, /<\/pre>\s*<button [^>]*data-copy[^>]*aria-label="Copy the value"/)
  assert.match(revealed.text, /This view was recorded in the <a href="\/console\/t\/\w+\/activity">activity log<\/a>/)
  assert.equal((await client.post(`${path}/${id}/delete`)).location, path)
  assert.match((await client.get(path)).text, /No variables yet/)
})

onBothEngines('the second button of a new variable comes back to the form, which is empty', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  for (const path of ['/console/t/admin/projects/web/variables', '/console/t/admin/variables']) {
    const form = (await client.get(`${path}/new`)).text
    assert.match(form, /<button class="btn" name="after" value="another">Add and enter another<\/button>/)
    const fields = { key: 'FIRST', value: SECRET, target: ['production'], type: 'encrypted' }
    const added = await client.post(`${path}/new`, { ...fields, after: 'another' })
    assert.deepEqual([added.status, added.location], [303, `${path}/new`], added.text)
    const next = (await client.get(added.location)).text
    assert.match(
      next,
      /role="status".*FIRST is added\..*<input type="text" id="key" name="key" value=""[^>]* autofocus>/s,
    )
    assert.equal((await client.post(`${path}/new`, { ...fields, key: 'SECOND', after: 'x' })).location, path)
  }
})

onBothEngines(
  'a user who gave their password over an hour ago gives it again before a value is shown',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', {
      name: 'web',
      environmentVariables: [{ key: 'TOKEN', value: SECRET, target: 'production' }],
    })
    const path = '/console/t/admin/projects/web/variables'
    const [id] = /env_\w+/.exec((await client.get(path)).text) ?? []
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    const asked = await client.get(`${path}/${id}`)
    assert.equal(asked.location, `/confirm?return=${encodeURIComponent(`${path}/${id}`)}`)
    await client.get(asked.location)
    const wrong = await client.post(asked.location, { password: 'wrong password of mine' })
    assert.equal(wrong.status, 403)
    assert.equal((await client.get(`${path}/${id}`)).status, 303)
    await client.get(asked.location)
    const right = await client.post(asked.location, { password: PASSWORD })
    assert.deepEqual([right.status, right.location], [303, `${path}/${id}`], right.text)
    assert.match((await client.get(right.location)).text, new RegExp(SECRET))
  },
)

onBothEngines('a page allows what the role of its user allows, in this account and in no other', async (world) => {
  const guest = await world.user('guest')
  const client = await openSignedInClient(world, guest.id, 'guest')
  await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body as { slug: string }
  const path = `/console/t/${slug}/projects/web`
  assert.equal((await client.get(path)).status, 404, 'no member')
  await world.join(guest, 'VIEWER')
  assert.equal((await client.get(path)).status, 200)
  const paused = await client.post(`${path}/pause`)
  assert.equal(paused.status, 403)
  assert.match(paused.text, /project:write/)
  const forged = await client.post(`${path}/pause`, { form: 'forged' })
  assert.equal(forged.status, 403)
  const owner = await openSignedInClient(world)
  await owner.get(path)
  assert.equal((await owner.post(`${path}/pause`)).location, path)
  assert.match((await owner.get(path)).text, /Paused/)
})

onBothEngines('a page that a route refuses says so, and logs no error', async (world) => {
  const guest = await world.user('guest')
  const client = await openSignedInClient(world, guest.id, 'guest')
  await world.join(guest, 'BILLING')
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body as { slug: string }
  await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
  const refused = await client.get(`/console/t/${slug}/projects/web/variables`)
  assert.equal(refused.status, 403)
  assert.match(refused.text, /env:read/)
  assert.doesNotMatch(world.logged(), /does not declare this refusal/)
})

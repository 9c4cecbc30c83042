/** Settings of a project in the console, giving it away, and deleting it. docs/console.md. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web'
const read = async ({ call }: World, name = 'web') => (await call('GET', `/v9/projects/${name}`)).body

onBothEngines('settings are shown, saved, refused next to their field, and cleared', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web', buildCommand: 'make', framework: 'vite' })
  const page = await client.get(`${PATH}/settings`)
  assert.match(page.text, /name="buildCommand" value="make"/)
  assert.match(page.text, /<option value="vite" selected>/)
  assert.match(page.text, /name="autoAssignCustomDomains" checked/)
  const form = { name: 'web', framework: '', nodeVersion: '22.x', buildCommand: '', outputDirectory: 'dist' }
  const saved = await client.post(`${PATH}/settings`, form)
  assert.deepEqual([saved.status, saved.location], [303, `${PATH}/settings`], saved.text)
  const told =
    /<div class="note good" role="status"><svg.*?<\/svg><div class="grow">The settings are saved\. [^<]*<\/div><\/div>/
  const next = (await client.get(saved.location)).text
  assert.match(next, told)
  assert.doesNotMatch((await client.get(PATH)).text, told, 'another page does not say it')
  const after = await read(world)
  assert.deepEqual(
    [after.framework, after.nodeVersion, after.buildCommand, after.outputDirectory, after.autoAssignCustomDomains],
    [null, '22.x', null, 'dist', false],
  )
  const bad = await client.post(`${PATH}/settings`, { ...form, name: 'Bad Name', buildCommand: 'kept' })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /name="name" value="Bad Name"[^>]*aria-invalid="true"/)
  assert.match(bad.text, /name="buildCommand" value="kept"/)
  assert.doesNotMatch(bad.text, /name="autoAssignCustomDomains" checked/)
  const long = await client.post(`${PATH}/settings`, { ...form, buildCommand: 'x'.repeat(300) })
  assert.equal(long.status, 400)
  assert.match(long.text, /id="buildCommand-fault"/)
  const renamed = await client.post(`${PATH}/settings`, { ...form, name: 'site' })
  assert.equal(renamed.location, '/console/t/admin/projects/site/settings')
})

onBothEngines('the data cache is switched, and a protection is set and taken away', async (world) => {
  const client = await openSignedInClient(world)
  const { id } = (await world.call('POST', '/v10/projects', { name: 'web' })).body
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  await client.get(`${PATH}/settings`)
  assert.equal((await client.post(`${PATH}/settings/data-cache`, { disabled: 'yes' })).status, 303)
  assert.equal((await read(world)).dataCache.userDisabled, true)
  assert.match((await client.get(`${PATH}/settings`)).text, /<strong>Disabled/)
  await client.post(`${PATH}/settings/data-cache`, { disabled: 'no' })
  assert.equal((await read(world)).dataCache.userDisabled, false)

  const missing = await client.post(`${PATH}/settings/protection`, { passwordFor: 'all', password: '', signInFor: '' })
  assert.equal(missing.status, 400)
  assert.match(missing.text, /<option value="all" selected>/)
  const wanted = { passwordFor: 'all', password: 'a secret of ours', signInFor: 'preview' }
  assert.equal((await client.post(`${PATH}/settings/protection`, wanted)).status, 303)
  const page = await client.get(`${PATH}/settings`)
  assert.doesNotMatch(page.text, /a secret of ours/)
  const shown = await read(world, id)
  assert.deepEqual([shown.passwordProtection.deploymentType, shown.ssoProtection.deploymentType], ['all', 'preview'])
  const kept = await client.post(`${PATH}/settings/protection`, { ...wanted, password: '' })
  assert.equal(kept.status, 303, 'an empty password keeps the one that is there')
  assert.equal((await client.post(`${PATH}/settings/protection`, {})).status, 303)
  assert.deepEqual([(await read(world)).passwordProtection, (await read(world)).ssoProtection], [null, null])
})

onBothEngines('a project is deleted only where its name was typed', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await client.get(`${PATH}/settings`)
  for (const typed of ['', 'Web', 'web2']) {
    const refused = await client.post(`${PATH}/settings/delete`, { typed })
    assert.equal(refused.status, 400)
    assert.match(refused.text, /id="typed-fault"/)
    assert.match(refused.text, /name="autoAssignCustomDomains" checked/, 'the other forms are as they were')
  }
  assert.equal((await read(world)).name, 'web')
  const gone = await client.post(`${PATH}/settings/delete`, { typed: 'web' })
  assert.deepEqual([gone.status, gone.location], [303, '/console/t/admin'], gone.text)
  assert.equal((await client.get(PATH)).status, 404)
})

onBothEngines(
  'the project that was shown is deleted or given, and no other one that has its name by now',
  async (world) => {
    const client = await openSignedInClient(world)
    const shown = (await world.call('POST', '/v10/projects', { name: 'web' })).body.id
    assert.equal((await client.get(`${PATH}/settings`)).status, 200)
    await world.call('PATCH', '/v9/projects/web', { name: 'web-old' })
    const other = (await world.call('POST', '/v10/projects', { name: 'web' })).body.id
    const forms = { transfer: {}, 'settings/delete': { typed: 'web' } }
    for (const [path, fields] of Object.entries(forms)) {
      const refused = await client.post(`${PATH}/${path}`, { ...fields, shown })
      assert.equal(refused.status, 404, path)
      assert.match(refused.text, /Nothing was changed: another project has the name web now\./, path)
    }
    const offers = async () =>
      (await world.deps.db.read.selectFrom('transfer_request').select('project_id').execute()).map(
        (one) => one.project_id,
      )
    assert.deepEqual([await offers(), (await read(world)).name], [[], 'web'])

    // A name that no project has by now refuses nothing.
    await world.call('PATCH', '/v9/projects/web', { name: 'web-new' })
    assert.equal((await client.post(`${PATH}/transfer`, { shown })).status, 200)
    assert.deepEqual(await offers(), [shown])
    const gone = await client.post(`${PATH}/settings/delete`, { typed: 'web', shown })
    assert.equal(gone.status, 303, gone.text)
    assert.equal((await world.call.try('GET', '/v9/projects/web-old')).status, 404)
    assert.equal((await world.call('GET', '/v9/projects/web-new')).body.id, other)
  },
)

onBothEngines('a project is transferred to another account with a code that is shown once', async (world) => {
  const giver = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const variable = { key: 'A', value: '1', target: ['preview'] }
  const { id } = (await world.call('POST', '/v10/projects/web/env', variable)).body.created
  const taker = await world.user('taker')
  await taker.call('POST', '/v10/projects', { name: 'web' })
  await giver.get(PATH)
  await giver.post(`${PATH}/pause`)
  assert.match((await giver.get(PATH)).text, /You paused this project <time/)
  const receiver = await openSignedInClient(world, taker.id, 'taker')
  assert.match((await giver.get(`${PATH}/transfer`)).text, /data-turbo="false"/)
  const made = await giver.post(`${PATH}/transfer`)
  assert.equal(made.status, 200, made.text)
  const [, code] = /<code class="copy">(\w{32})</.exec(made.text)!
  await receiver.get('/console/t/taker/receive')
  const wrong = await receiver.post('/console/t/taker/receive', { code: 'nonsense', newProjectName: '' })
  assert.equal(wrong.status, 404)
  assert.match(wrong.text, /value="nonsense"/)
  const accept = { code: code!, step: 'accept' }
  const taken = await receiver.post('/console/t/taker/receive', { ...accept, newProjectName: '' })
  assert.equal(taken.status, 409)
  assert.match(taken.text, /id="newProjectName-fault"/)
  const accepted = await receiver.post('/console/t/taker/receive', { ...accept, newProjectName: 'web-two' })
  assert.deepEqual([accepted.status, accepted.location], [303, '/console/t/taker'], accepted.text)
  assert.match((await receiver.get(accepted.location)).text, /role="status".*The transfer has started\./)
  assert.match((await giver.get('/console/t/admin')).text, /Being transferred/)
  assert.match((await giver.get(PATH)).text, /This project is being transferred/)
  const locked = await giver.post(`${PATH}/settings`, { name: 'web', nodeVersion: '20.x' })
  assert.equal(locked.status, 409)
  await runTimer(world.deps, 'project-transfers', world.deps.clock.now())
  const moved = (await receiver.get('/console/t/taker/projects/web-two')).text
  assert.match(moved, /<dt>Transferred<\/dt>/)
  assert.match(moved, /This project was paused <time/)
  const history = (await receiver.get(`/console/t/taker/projects/web-two/variables/${id}/history`)).text
  assert.match(history, /former member/)
  const shown = (await taker.call('GET', '/v9/projects/web-two')).body
  assert.deepEqual([shown.paused, shown.pausedBy], [true, undefined], 'users are not named to another account')
  assert.equal((await giver.get(PATH)).status, 404)
})

onBothEngines('only a user who gave their password recently can create a code', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await client.get(PATH)
  world.deps.clock.set(world.deps.clock.now() + 3_600_000)
  const asked = await client.get(`${PATH}/transfer`)
  assert.equal(asked.location, `/confirm?return=${encodeURIComponent(`${PATH}/transfer`)}`)
  const form = await client.post(`${PATH}/transfer`)
  assert.equal(form.status, 403)
  assert.match(form.text, /Confirm that it is you/)
})

onBothEngines('the overview shows who paused a project, and what needs attention', async (world) => {
  const guest = await world.user('guest')
  await world.join(guest, 'MEMBER')
  const { teamId } = world.credentials
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const { id } = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  const client = await openSignedInClient(world)
  const path = `/console/t/${slug}/projects/web`
  assert.doesNotMatch((await client.get(path)).text, /Needs attention/)
  await world.call('POST', `/v10/projects/web/domains?teamId=${teamId}`, { name: 'www.example.com' })
  assert.match((await client.get(path)).text, /www\.example\.com<\/a> is not verified/)
  await guest.call('POST', `/v1/projects/${id}/pause?teamId=${teamId}`)
  const paused = (await client.get(path)).text
  assert.match(paused, /This project was paused by guest <time[^>]*>just now/)
  const shown = (await world.call('GET', `/v9/projects/web?teamId=${teamId}`)).body
  assert.equal(shown.pausedBy, guest.id)
  await client.post(`${path}/unpause`)
  const after = (await world.call('GET', `/v9/projects/web?teamId=${teamId}`)).body
  assert.deepEqual([after.paused, after.pausedAt, after.pausedBy], [false, undefined, undefined])
})

onBothEngines(
  'a custom environment is created, chosen, and removed with its domains and, on request, its variables',
  async (world) => {
    const client = await openSignedInClient(world)
    await world.call('POST', '/v10/projects', { name: 'web' })
    const list = `${PATH}/settings/environments`
    assert.match((await client.get(`${PATH}/settings`)).text, new RegExp(`href="${list}"`))
    assert.match((await client.get(list)).text, /No custom environments yet/)
    const bad = await client.post(list, { slug: 'Not A Slug', description: 'why' })
    assert.equal(bad.status, 400)
    assert.match(bad.text, /name="slug" value="Not A Slug"[^>]*aria-invalid="true"/)
    assert.match(bad.text, /name="description" value="why"/)
    for (const slug of ['staging', 'kept']) {
      const made = await client.post(list, { slug: ` ${slug} `, description: 'before it is live' })
      assert.deepEqual([made.status, made.location], [303, list], made.text)
    }
    assert.equal((await client.post(list, { slug: 'staging' })).status, 409)
    const [, id] = /environments\/(env_\w+)">staging</.exec((await client.get(list)).text)!
    assert.match((await client.get(`${PATH}/domains/add`)).text, new RegExp(`<option value="${id}">staging<`))
    const names = ['GONE', 'KEPT']
    const add = (key: string, slug: string) =>
      world.call('POST', '/v10/projects/web/env', { key, value: 'v', target: [], customEnvironmentIds: [slug] })
    assert.deepEqual([(await add('GONE', 'staging')).status, (await add('KEPT', 'kept')).status], [201, 201])
    const keys = async () => (await world.call('GET', '/v10/projects/web/env')).body.envs.map(({ key }) => key).sort()
    assert.deepEqual(await keys(), names)
    assert.match(
      (await client.get(`${list}/${id}`)).text,
      /before it is live[\s\S]*Remove environment[\s\S]*<summary[^>]*>Remove environment…<\/summary>\s*<form/,
    )
    const removed = await client.post(`${list}/staging/remove`, { deleteVariables: 'on' })
    assert.deepEqual([removed.status, removed.location], [303, list], removed.text)
    assert.deepEqual(await keys(), ['KEPT'])
    await client.post(`${list}/kept/remove`)
    assert.deepEqual(await keys(), ['KEPT'])
    assert.match((await client.get(list)).text, /No custom environments yet/)

    await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'shown' })
    const guest = await world.user('guest')
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    await world.call('POST', `/v9/projects/web/custom-environments?teamId=${world.credentials.teamId}`, {
      slug: 'shown',
    })
    await world.join(guest, 'VIEWER')
    const viewer = await openSignedInClient(world, guest.id, 'guest')
    const theirs = '/console/t/team/projects/web/settings/environments'
    for (const url of [theirs, `${theirs}/shown`]) {
      const seen = await viewer.get(url)
      assert.match(seen.text, /shown/)
      assert.doesNotMatch(seen.text, /New environment|Remove environment/)
    }
  },
)

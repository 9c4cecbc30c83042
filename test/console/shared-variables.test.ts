/** The pages of shared variables, of an account and of a project. docs/shared-variables.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { eventually } from '../support/eventually.ts'
import { seedProject } from '../support/projects.ts'
import { onBothEngines, type World } from '../support/world.ts'

const PATH = '/console/t/admin/variables'

async function open(world: World) {
  const client = await openSignedInClient(world)
  const [web, api] = [await seedProject(world, 'web'), await seedProject(world, 'api')]
  await client.get(PATH)
  const listed = async () => (await world.call('GET', '/v1/env')).body.data
  return { client, web, api, listed }
}

onBothEngines('a shared variable is added for projects, changed, and deleted', async (world) => {
  const { client, web, api, listed } = await open(world)
  assert.match((await client.get(PATH)).text, /No shared variables yet[\s\S]*takes precedence/)
  assert.match(
    (await client.get('/console/t/admin')).text,
    /<a href="\/console\/t\/admin\/variables"[^>]*>.*Shared variables<\/a>/,
  )
  const page = (await client.get(`${PATH}/new`)).text
  assert.match(page, new RegExp(`name="projectIds" value="${web}"> web<`))
  assert.doesNotMatch(page, /name="gitBranch"|value="plain"/, 'shared variables have no branch, and are never plain')

  const form = { key: ' DSN ', value: 'first\r\nvalue', target: ['production', 'preview'], type: 'encrypted' }
  const made = await client.post(`${PATH}/new`, { ...form, comment: 'errors', projectIds: [web] })
  assert.deepEqual([made.status, made.location], [303, PATH], made.text)
  const list = (await client.get(PATH)).text
  assert.match(list, /role="status".*DSN is added\./)
  assert.match(list, /<code>DSN<\/code><\/a><br><span class="soft small">errors<[\s\S]*variables\/shared">web<\/a>/)
  assert.doesNotMatch(list, /first/)
  const [one] = await listed()
  assert.deepEqual([one.key, one.target, one.projectId], ['DSN', ['production', 'preview'], [web]])
  const { value } = (await world.call('GET', `/v1/env/${one.id}`)).body
  assert.equal(value, 'first\nvalue')

  const edit = await client.get(`${PATH}/${one.id}/edit`)
  assert.doesNotMatch(edit.text, /first/)
  assert.match(edit.text, new RegExp(`name="projectIds" value="${web}" checked`))
  const changed = { ...form, key: 'DSN', value: '', comment: '', projectIds: [web, api] }
  assert.equal((await client.post(`${PATH}/${one.id}/edit`, changed)).status, 303)
  const after = (await world.call('GET', `/v1/env/${one.id}`)).body
  assert.deepEqual([after.value, after.comment, after.projectId], ['first\nvalue', undefined, [web, api].sort()])

  const gone = await client.post(`${PATH}/${one.id}/delete`)
  assert.deepEqual([gone.status, gone.location], [303, PATH], gone.text)
  assert.deepEqual(await listed(), [])
  assert.equal((await client.get(`${PATH}/${one.id}/edit`)).status, 404)
})

onBothEngines('what the route refuses is shown next to its field, with what was typed', async (world) => {
  const { client } = await open(world)
  const form = { key: 'DSN', value: 'typed-value', target: ['preview'], type: 'encrypted' }
  assert.equal((await client.post(`${PATH}/new`, form)).status, 303)
  const wrong: [field: string, fields: object][] = [
    ['key', { key: 'not a key' }],
    ['key', { key: 'DSN' }],
    ['comment', { key: 'OTHER', comment: 'x'.repeat(501) }],
    ['target', { key: 'OTHER', target: [] }],
    ['projectIds', { key: 'OTHER', projectIds: ['prj_unknown'] }],
  ]
  const [{ id }] = (await world.call('GET', '/v1/env')).body.data
  await client.post(`${PATH}/new`, { ...form, key: 'SECOND' })
  for (const path of [`${PATH}/new`, `${PATH}/${id}/edit`])
    for (const [field, fields] of wrong) {
      const isOwn = 'key' in fields && fields.key === 'DSN' && path.endsWith('edit')
      const refused = await client.post(path, { ...form, ...fields, ...(isOwn && { key: 'SECOND' }) })
      assert.ok([400, 409].includes(refused.status), `${path} ${field}: ${refused.status}`)
      assert.match(refused.text, new RegExp(`id="${field}-fault"`), `${path} ${field}`)
      assert.match(refused.text, />\ntyped-value<\/textarea>/)
      assert.doesNotMatch(refused.text, /updates\.|evs\./, `${path} ${field}`)
    }
})

onBothEngines('the value is shown on request, where the role may read it, and the activity names it', async (world) => {
  const { client } = await open(world)
  for (const [key, type] of [
    ['READABLE', 'encrypted'],
    ['SECRET', 'sensitive'],
  ])
    await client.post(`${PATH}/new`, { key: key!, value: 'hidden-value', target: ['preview'], type: type! })
  const { data } = (await world.call('GET', '/v1/env')).body
  const idOf = (key: string) => data.find((one: { key: string }) => one.key === key)!.id
  const list = (await client.get(PATH)).text
  assert.match(list, /aria-label="Reveal READABLE"/)
  assert.doesNotMatch(list, /Reveal SECRET|hidden-value/)
  const shown = (await client.get(`${PATH}/${idOf('READABLE')}`)).text
  assert.match(shown, /<pre id="value">\nhidden-value<\/pre>/)
  const secret = (await client.get(`${PATH}/${idOf('SECRET')}`)).text
  assert.match(secret, /write-only/)
  assert.doesNotMatch(secret, /hidden-value/)
  const line = /revealed the shared variable <a href="\/console\/t\/admin\/variables\?search=READABLE"/
  // The line of a read comes a little later.
  await eventually(async () => line.test((await client.get('/console/t/admin/activity')).text))
  assert.match((await client.get(`${PATH}?search=readable`)).text, /<code>READABLE<(?![\s\S]*<code>SECRET<)/)
  world.deps.clock.set(world.deps.clock.now() + 3_600_000)
  const asked = await client.get(`${PATH}/${idOf('READABLE')}`)
  assert.match(asked.location, /^\/confirm\?return=/)
})

onBothEngines('a project shows which shared variables it has, and links and unlinks them', async (world) => {
  const { client, web, api, listed } = await open(world)
  const form = { key: 'DSN', value: 'v', target: ['preview'], type: 'encrypted' }
  await client.post(`${PATH}/new`, { ...form, projectIds: [api] })
  const [{ id }] = await listed()
  const ofWeb = '/console/t/admin/projects/web/variables/shared'
  assert.match((await client.get('/console/t/admin/projects/web/variables')).text, new RegExp(`href="${ofWeb}"`))
  assert.match((await client.get(ofWeb)).text, /Not linked[\s\S]*aria-label="Link DSN"/)
  const linked = await client.post(`${ofWeb}/${id}`, { projectId: web, linked: 'true' })
  assert.deepEqual([linked.status, linked.location], [303, ofWeb], linked.text)
  assert.deepEqual((await listed())[0].projectId, [web, api].sort())
  assert.match((await client.get(ofWeb)).text, /The variable is linked\.[\s\S]*aria-label="Unlink DSN"/)
  assert.equal((await client.post(`${ofWeb}/${id}`, { projectId: web })).status, 303)
  assert.deepEqual((await listed())[0].projectId, [api])
  const elsewhere = '/console/t/admin/projects/nosuch/variables/shared'
  assert.equal((await client.post(`${elsewhere}/${id}`, { projectId: web, linked: 'true' })).status, 404)
  assert.deepEqual((await listed())[0].projectId, [api])
})

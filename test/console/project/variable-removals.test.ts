/** Deleting the chosen variables of a list, and its order. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/variables'
const ASK = `${PATH}/delete`

const queryOf = (ids: readonly string[]) => new URLSearchParams(ids.map((id) => ['id', id])).toString()

async function seedVariables({ call }: World, keys: readonly string[], target: readonly string[], query = '') {
  const body = keys.map((key) => ({ key, value: `value of ${key}`, target }))
  const { created } = (await call('POST', `/v10/projects/web/env${query}`, body)).body
  return (created as { id: string }[]).map(({ id }) => id)
}

const keysOf = async ({ call }: World, query = '') =>
  (await call('GET', `/v10/projects/web/env${query}`)).body.envs.map(({ key }) => key).sort()

onBothEngines('chosen variables are deleted at once after a page that names them', async (world) => {
  const client = await openSignedInClient(world)
  await seedProject(world, 'web')
  const [a = '', b = '', c = ''] = await seedVariables(world, ['A', 'B', 'C'], ['preview', 'production'])
  const list = (await client.get(PATH)).text
  for (const id of [a, b, c])
    assert.match(list, new RegExp(`<input type="checkbox" name="id" value="${id}" form="chosen" aria-label="Choose `))
  assert.match(list, new RegExp(`<form [^>]*id="chosen" action="${ASK}"><button`))

  const asked = (await client.get(`${ASK}?${queryOf([a, c, 'env_gone'])}`)).text
  assert.match(asked, /<h1>Delete 2 variables\?<\/h1>[\s\S]*<code>A<\/code>[\s\S]*Production[\s\S]*<code>C<\/code>/)
  assert.doesNotMatch(asked, /<code>B<\/code>|value of/)
  assert.match(asked, /<button class="btn danger">Delete 2 variables<\/button>/)
  // Sent twice, it acts once.
  for (let times = 0; times < 2; times++) {
    const sent = await client.post(ASK, { id: [a, c], once: 'shown-once' })
    assert.deepEqual([sent.status, sent.location], [303, PATH], sent.text)
  }
  assert.match((await client.get(PATH)).text, /role="status".*2 variables are deleted\..*Go to deployments/)
  assert.deepEqual(await keysOf(world), ['B'])
  const lines = await world.deps.db.read
    .selectFrom('audit')
    .select('type')
    .where('type', '=', 'batchRemoveProjectEnv')
    .execute()
  assert.equal(lines.length, 1)
  assert.match((await client.get(ASK)).text, /Choose variables in the list first\./)
  assert.equal((await client.post(ASK)).status, 400)
  assert.deepEqual(await keysOf(world), ['B'])
})

onBothEngines('a role deletes what it may change, and the page names what stays', async (world) => {
  const query = `?teamId=${world.credentials.teamId}`
  await seedProject(world, 'web', query)
  const [live = ''] = await seedVariables(world, ['LIVE'], ['production'], query)
  const [draft = ''] = await seedVariables(world, ['DRAFT'], ['preview'], query)
  const at = (path: string) => path.replace('admin', 'team')
  const signIn = async (name: string, role: 'DEVELOPER' | 'VIEWER') => {
    const user = await world.user(name)
    await world.join(user, role)
    return openSignedInClient(world, user.id, name)
  }
  const developer = await signIn('developer', 'DEVELOPER')
  const list = (await developer.get(at(PATH))).text
  assert.ok(list.includes(`name="id" value="${draft}"`) && !list.includes(`name="id" value="${live}"`))
  const asked = (await developer.get(`${at(ASK)}?${queryOf([live, draft])}`)).text
  assert.match(asked, /<h1>Delete 1 variable\?<\/h1>[\s\S]*so these stay: <code>LIVE<\/code>\./)
  assert.ok(!asked.includes(`value="${live}"`))
  // The form of another page names both: nothing is deleted.
  const both = await developer.post(at(ASK), { id: [live, draft] })
  assert.equal(both.status, 403)
  assert.match(both.text, /role="alert"[\s\S]*<h1>Delete 1 variable\?/)
  assert.deepEqual(await keysOf(world, query), ['DRAFT', 'LIVE'])

  const viewer = await signIn('viewer', 'VIEWER')
  const { text } = await viewer.get(at(PATH))
  assert.match(text, /LIVE/)
  assert.doesNotMatch(text, /type="checkbox"|id="chosen"/)
  assert.equal((await viewer.get(`${at(ASK)}?id=${draft}`)).status, 403)
  assert.equal((await viewer.post(at(ASK), { id: [draft] })).status, 403)
  assert.deepEqual(await keysOf(world, query), ['DRAFT', 'LIVE'])
})

onBothEngines('variables are listed by key, or the last changed first', async (world) => {
  const client = await openSignedInClient(world)
  await seedProject(world, 'web')
  for (const key of ['B', 'C', 'A']) {
    await seedVariables(world, [key], ['preview'])
    world.deps.clock.set(world.deps.clock.now() + 1000)
  }
  const order = async (query = '') =>
    [...(await client.get(`${PATH}${query}`)).text.matchAll(/aria-label="Choose (\w)"/g)].map(([, key]) => key).join('')
  assert.equal(await order(), 'ABC')
  assert.equal(await order('?sort=changed'), 'ACB')
})

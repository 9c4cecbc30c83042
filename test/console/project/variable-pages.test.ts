/** Editing, history and restoring variables in the console. docs/console.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/variables'

async function open(world: World, variables: object[]) {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const ids: string[] = []
  for (const body of variables) {
    const made = await world.call('POST', '/v10/projects/web/env', body)
    assert.equal(made.status, 201, made.text)
    ids.push(made.body.created.id)
  }
  await client.get(PATH)
  return { client, ids }
}

const read = async ({ call }: World, id: string) => (await call('GET', `/v1/projects/web/env/${id}`)).body

onBothEngines('a variable is edited: an empty value keeps the old one, other empty fields clear', async (world) => {
  const { client, ids } = await open(world, [
    { key: 'TOKEN', value: 'first-value', target: ['preview'], gitBranch: 'next', comment: 'why' },
  ])
  const made = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
  const [id] = ids
  const page = await client.get(`${PATH}/${id}/edit`)
  assert.equal(page.status, 200, page.text)
  assert.doesNotMatch(page.text, /first-value/)
  assert.match(page.text, /value="next"/)
  assert.match(page.text, /staging \(custom\)/)
  assert.match(page.text, /name="target" value="preview" checked/)

  const form = { key: 'TOKEN', value: '', type: 'encrypted', gitBranch: '', comment: '' }
  const saved = await client.post(`${PATH}/${id}/edit`, { ...form, target: ['preview', made.body.id] })
  assert.deepEqual([saved.status, saved.location], [303, PATH], saved.text)
  const after = await read(world, id!)
  assert.deepEqual(
    [after.value, after.target, after.customEnvironmentIds, after.gitBranch, after.comment],
    ['first-value', ['preview'], [made.body.id], undefined, undefined],
  )
  assert.match((await client.get(PATH)).text, />staging</)

  await client.post(`${PATH}/${id}/edit`, { ...form, target: ['preview'], value: 'two\r\nlines' })
  assert.equal((await read(world, id!)).value, 'two\nlines', 'a browser ends lines with CR LF, users do not')

  const nowhere = await client.post(`${PATH}/${id}/edit`, { ...form, value: 'typed-anew' })
  assert.equal(nowhere.status, 400)
  assert.match(nowhere.text, /id="target-fault"/)
  assert.match(nowhere.text, />\ntyped-anew<\/textarea>/)
  const branch = await client.post(`${PATH}/${id}/edit`, {
    ...form,
    target: ['production'],
    gitBranch: 'b'.repeat(300),
  })
  assert.equal(branch.status, 400)
  assert.match(branch.text, /aria-describedby="gitBranch-hint gitBranch-fault" aria-invalid="true"/)
  assert.equal((await client.get(`${PATH}/env_nobody/edit`)).status, 404)
})

onBothEngines('the history shows who, when and what, and a version is restored', async (world) => {
  const { client, ids } = await open(world, [{ key: 'TOKEN', value: 'first-value', target: ['preview'] }])
  const [id] = ids
  await world.call('PATCH', `/v9/projects/web/env/${id}`, { value: 'second-value', comment: 'changed' })
  const page = await client.get(`${PATH}/${id}/history`)
  assert.equal(page.status, 200, page.text)
  assert.match(
    page.text,
    /<td[^>]*>Version 2 <span class="badge">Current<\/span><\/td><td[^>]*><time[^>]*>just now<\/time><\/td><td[^>]*>you<\/td>\s*<td[^>]*>Changed [^<]*value/,
  )
  assert.match(page.text, /<td[^>]*>Version 1<\/td>.*?<td[^>]*>you<\/td>\s*<td[^>]*>Created<\/td>/s)
  assert.doesNotMatch(page.text, /first-value|second-value/)
  const restored = await client.post(`${PATH}/${id}/history/1/restore`)
  assert.deepEqual([restored.status, restored.location], [303, `${PATH}/${id}/history`], restored.text)
  assert.equal((await read(world, id!)).value, 'first-value')
  assert.match(
    (await client.get(`${PATH}/${id}/history`)).text,
    /<td[^>]*>Version 3 <span class="badge">Current<\/span><\/td>.*?<td[^>]*>Restored/s,
  )
  const none = await client.post(`${PATH}/${id}/history/77/restore`)
  assert.equal(none.status, 404)
  assert.match(none.text, /no version &quot;77&quot;/)
  await world.call('DELETE', `/v9/projects/web/env/${id}`)
  const gone = await client.get(`${PATH}/${id}/history`)
  assert.match(gone.text, /was deleted/)
  assert.doesNotMatch(gone.text, /<form method="post" action="[^"]*restore/)
})

onBothEngines('the history names only members of the team', async (world) => {
  const guest = await world.user('guest')
  await world.join(guest, 'MEMBER')
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  const made = await guest.call('POST', `/v10/projects/web/env?teamId=${teamId}`, {
    key: 'A',
    value: '1',
    target: ['preview'],
  })
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const client = await openSignedInClient(world)
  const path = `/console/t/${slug}/projects/web/variables/${made.body.created.id}/history`
  assert.match((await client.get(path)).text, /<td[^>]*>guest<\/td>/)
  await world.call('DELETE', `/v1/teams/${teamId}/members/${guest.id}`)
  const after = (await client.get(path)).text
  assert.match(after, new RegExp(`former member <code>${guest.id}`))
})

onBothEngines('the list says who changed a variable, and each row has its actions', async (world) => {
  const lena = await world.user('lena')
  await world.join(lena, 'MEMBER')
  const { teamId } = world.credentials
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  const add = async (key: string, target: 'production' | 'preview', type = 'encrypted') => {
    const body = { key, value: '1', target: [target], type }
    return (await world.call('POST', `/v10/projects/web/env?teamId=${teamId}`, body)).body.created.id
  }
  const [live, tried, hidden] = [
    await add('LIVE', 'production'),
    await add('TRIED', 'preview'),
    await add('HIDDEN', 'preview', 'sensitive'),
  ]
  await lena.call('PATCH', `/v9/projects/web/env/${tried}?teamId=${teamId}`, { value: '2' })
  const { slug } = (await world.call('GET', `/v2/teams/${teamId}`)).body as { slug: string }
  const path = `/console/t/${slug}/projects/web/variables`
  const rowOf = (text: string, key: string) =>
    text.split(/<tr(?=[ >])/).find((row) => row.includes(`<code>${key}</code>`))!
  const actionsOf = (text: string, key: string) =>
    [
      ...rowOf(text, key)
        .split('<details')[1]!
        .matchAll(/<a[^>]* href="([^"]+)"[^>]*><svg.*?<\/svg>([^<]+)/g),
    ].map(([, to, words]) => [words, to!.slice(path.length)])

  const { text } = await (await openSignedInClient(world)).get(path)
  assert.match(rowOf(text, 'LIVE'), /<\/time><\/a> <span class="soft">by you</)
  assert.match(rowOf(text, 'TRIED'), /<\/time><\/a> <span class="soft">by lena</)
  assert.match(rowOf(text, 'LIVE'), /<summary [^>]*aria-label="Actions for LIVE"/)
  assert.deepEqual(actionsOf(text, 'LIVE'), [
    ['Edit', `/${live}/edit`],
    ['History', `/${live}/history`],
    ['Delete…', `/${live}/edit#delete`],
  ])
  assert.match(
    rowOf(text, 'LIVE'),
    new RegExp(`<turbo-frame id="value-${live}" data-opens><a class="btn[^"]*" href="${path}/${live}"`),
  )
  assert.deepEqual(
    actionsOf(text, 'HIDDEN').map(([words]) => words),
    ['Edit', 'History', 'Delete…'],
  )
  const client = await openSignedInClient(world)
  assert.match((await client.get(`${path}/${live}`)).text, new RegExp(`<turbo-frame id="value-${live}">`))
  assert.match((await client.get(`${path}/${hidden}/edit`)).text, /<div id="delete"><section[^>]*danger-zone/)

  const guest = await world.user('guest')
  await world.join(guest, 'DEVELOPER')
  const asDeveloper = (await (await openSignedInClient(world, guest.id, 'guest')).get(path)).text
  assert.deepEqual(actionsOf(asDeveloper, 'LIVE'), [['History', `/${live}/history`]])
  assert.doesNotMatch(asDeveloper, /export\?environment=production/)
  assert.match(asDeveloper, /export\?environment=preview/)
})

onBothEngines('the values of an environment are a file, which leaves one audit entry', async (world) => {
  const { client } = await open(world, [
    { key: 'A', value: 'one value', target: ['preview', 'development'] },
    { key: 'B', value: 'two', target: ['preview'] },
    { key: 'HIDDEN', value: 'never-seen', target: ['preview'], type: 'sensitive' },
  ])
  await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
  const links = [
    ...(await client.get(PATH)).text.matchAll(/href="([^"]+\/export\?environment=(\w+))" data-turbo="false"/g),
  ]
  assert.deepEqual(
    links.map(([, , name]) => name),
    ['production', 'preview', 'development', 'staging'],
  )
  const file = await client.get(links[1]![1]!)
  assert.equal(file.status, 200)
  assert.equal(file.headers['content-disposition'], 'attachment; filename="web-preview.env"')
  assert.equal(file.headers['cache-control'], 'no-store')
  assert.match(file.text, /^A='one value'$/m)
  assert.match(file.text, /^B=two$/m)
  assert.doesNotMatch(file.text, /never-seen/)
  await world.deps.secretReads.write()
  const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=100')).body
  assert.deepEqual(
    entries.filter(({ type }) => /Env$/.test(type) && type !== 'createProjectEnv').map(({ type }) => type),
    ['exportProjectEnv'],
  )
  world.deps.clock.set(world.deps.clock.now() + 3_600_000)
  assert.match((await client.get(links[1]![1]!)).location, /^\/confirm\?return=/)
})

onBothEngines('the list shows the variables of a deployment of a branch', async (world) => {
  const { client } = await open(world, [
    { key: 'A', value: 'general', target: ['preview'], comment: 'general one' },
    { key: 'A', value: 'special', target: ['preview'], gitBranch: 'next', comment: 'special one' },
    { key: 'B', value: 'x', target: ['production'] },
  ])
  const general = (await client.get(`${PATH}?environment=preview`)).text
  assert.match(general, /general one/)
  assert.doesNotMatch(general, /special one|<code>B</)
  const special = (await client.get(`${PATH}?environment=preview&branch=next`)).text
  assert.match(special, /special one/)
  assert.doesNotMatch(special, /general one/)
  assert.match((await client.get(`${PATH}?search=b`)).text, /<code>B</)
})

onBothEngines('variables are sorted by key, regardless of their creation', async (world) => {
  const keys = ['B', 'D', 'A', 'C', 'E']
  const { client } = await open(
    world,
    keys.map((key) => ({ key, value: 'x', target: ['production'] })),
  )
  const shown = [...(await client.get(PATH)).text.matchAll(/<code>([A-E])</g)].map(([, key]) => key)
  assert.deepEqual(shown, ['A', 'B', 'C', 'D', 'E'])
})

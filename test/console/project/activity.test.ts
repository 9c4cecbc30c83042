/** Who changed what in a project. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('the activity of a project is a section of it, is narrowed, and is exported', async (world) => {
  const query = `?teamId=${world.credentials.teamId}`
  for (const name of ['web', 'other']) await seedProject(world, name, query)
  const add = (project: string, key: string) =>
    world.call('POST', `/v10/projects/${project}/env${query}`, { key, value: 'a value of mine', target: ['preview'] })
  const { id } = (await add('web', 'MINE')).body.created
  await add('other', 'THEIRS')
  await world.call('DELETE', `/v9/projects/web/env/${id}${query}`)
  const client = await openSignedInClient(world)
  const path = '/console/t/team/projects/web/activity'
  assert.match((await client.get('/console/t/team/projects/web')).text, new RegExp(`<a href="${path}" data-go="a">`))
  const { text } = await client.get(path)
  assert.match(text, new RegExp(`<a href="${path}"[^>]* aria-current="page">`))
  const typesIn = (page: string) => [...page.matchAll(/\?type=(\w+)">\1</g)].map(([, type]) => type)
  assert.deepEqual(typesIn(text), ['removeProjectEnv', 'createProjectEnv', 'createProject'])
  assert.doesNotMatch(text, /a value of mine/)
  assert.match(text, new RegExp(`href="${path}\\?type=createProjectEnv"`))
  assert.deepEqual(typesIn((await client.get(`${path}?type=createProjectEnv`)).text), ['createProjectEnv'])
  assert.match((await client.get(`${path}?to=2000-01-01`)).text, /No activity yet/)
  const file = await client.get(`${path}/export?type=createProjectEnv`)
  assert.match(String(file.headers['content-disposition']), /attachment; filename="activity-web.csv"/)
  assert.equal(file.text.trim().split('\r\n').length, 2)
  assert.equal((await client.get('/console/t/team/projects/gone/activity')).status, 404)
})

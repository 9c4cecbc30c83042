import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { skipReason } from '../support/programs.ts'
import { assertSaid, hasTerminals, onBothClis } from './cli-world.ts'

onBothClis('projects', async (world) => {
  const { cli, works, api, at } = world
  const { teamId } = world.credentials
  const read = (name: string) => api.try('GET', `/v9/projects/${name}`)
  const rival = await world.user('rival')
  await rival.call('POST', '/v10/projects', { name: 'foreign' })

  await works('project add', async () => {
    assertSaid(await cli(['project', 'add', 'web']), 0, 'Success! Project web added (team)')
    assert.equal((await read('web')).body.accountId, teamId)
    // Both take 409 for done.
    assertSaid(await cli(['project', 'add', 'web']), 0, 'Project web added')
    assertSaid(await cli(['project', 'add', 'No Spaces']), 1, 'Project names are up to 100 characters')
    assert.equal((await api('GET', '/v9/projects')).body.projects.length, 1)
  })
  await works('project ls', async () => {
    await api('POST', '/v10/projects', { name: 'other' })
    const said = await cli(['project', 'ls'])
    assertSaid(said, 0, 'Projects found under team', /^ {2}web +-- /m, /^ {2}other +-- /m)
    assert.doesNotMatch(said.err, /foreign/)
  })
  await works('project inspect', async () => {
    const { id } = (await read('web')).body
    assertSaid(await cli(['project', 'inspect', 'web']), 0, 'Found Project team/web', id, /Owner\s+Team/, '22.x')
    const own = { token: world.credentials.token }
    await world.call('POST', '/v10/projects', { name: 'mine' })
    assertSaid(await cli(['project', 'inspect', 'mine'], own), 0, /Found Project admin\/mine/, /Owner\s+Admin/)
    assertSaid(await cli(['project', 'inspect', 'foreign']), 1, 'Error: There is no project for "foreign"')
  })
  await works('project rename', async () => {
    const { id } = (await read('web')).body
    assertSaid(await cli(['project', 'rename', 'web', 'site']), 0, 'Success! Project web renamed to site')
    assert.equal((await read('site')).body.id, id)
    assert.equal((await read('web')).status, 404)
    assertSaid(await cli(['project', 'rename', 'site', 'other']), 1, 'already exists')
    assert.equal((await read('site')).body.id, id)
    await api('PATCH', `/v9/projects/${id}`, { name: 'web' })
  })
  if (hasTerminals) await pauseAndResume()
  else skipReason('script', 'bsdutils', 'project pause and project resume, which need a terminal')

  await works('link', async () => {
    const { id } = (await read('web')).body
    const linked = (folder: string) => JSON.parse(readFileSync(at(folder, '.vercel', 'project.json'), 'utf8'))
    assertSaid(await cli(['link', '--yes', '--project', 'web'], { folder: 'web' }), 0, 'team/web')
    assert.deepEqual([linked('web').projectId, linked('web').orgId], [id, teamId])
    const own = { token: world.credentials.token, folder: 'scoped' }
    assertSaid(await cli(['link', '--yes', '--project', 'web', '--scope', 'team'], own), 0, 'team/web')
    assert.deepEqual([linked('scoped').projectId, linked('scoped').orgId], [id, teamId])
    assertSaid(await cli(['link', '--yes', '--project', 'fresh'], { folder: 'fresh' }), 0, 'team/fresh')
    assert.equal(linked('fresh').projectId, (await read('fresh')).body.id)
    await rival.call('DELETE', '/v9/projects/foreign')
  })
  await works('project rm', async () => {
    const said = await cli(['project', 'rm', 'web'], { input: 'y\n' })
    assertSaid(said, 0, 'Success! Project web removed')
    assert.equal(said.asked.filter((asked) => asked.startsWith('DELETE')).length, 1, 'it is asked once')
    assert.equal((await read('web')).status, 404)
    assertSaid(await cli(['project', 'rm', 'web'], { input: 'y\n' }), 1, 'Error: No such project exists')
    assertSaid(await cli(['project', 'rm', 'other'], { input: 'n\n' }), 0)
    assert.equal((await read('other')).status, 200)
  })
  await works('a folder linked to a project that is gone', async () => {
    await api('DELETE', '/v9/projects/fresh')
    const said = await cli(['env', 'ls'], { folder: 'fresh' })
    assertSaid(
      said,
      1,
      'Your Project was either deleted, transferred to a new Team, or you don’t have access to it anymore',
    )
  })

  async function pauseAndResume() {
    const { id } = (await read('other')).body
    await works('project pause', async () => {
      const said = await cli(['project', 'pause', 'other'], { typed: [['other', 'other\r']] })
      assertSaid(said, 0, 'paused')
      assert.equal((await read(id)).body.paused, true)
    })
    await works('project resume', async () => {
      const said = await cli(['project', 'resume', 'other'], { typed: [['?', 'y\r']] })
      assertSaid(said, 0, 'resumed')
      assert.equal((await read(id)).body.paused, false)
    })
  }
})

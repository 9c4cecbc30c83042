import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { assertSaid, onBothClis } from './cli-world.ts'

onBothClis('the user of a token, and the account that it acts for', async (world) => {
  const { cli, works, at, credentials } = world
  const own = { token: credentials.token }

  await works('whoami', async () => {
    const said = await cli(['whoami'])
    assertSaid(said, 0)
    assert.equal(said.out.trim(), 'admin')
    assert.ok(said.asked.includes('GET /v2/user'))
  })
  await works('teams ls', async () => {
    await world.operator('POST', '/operator/v1/teams', { slug: 'second', name: 'Second', ownerId: credentials.userId })
    assertSaid(await cli(['teams', 'ls'], own), 0, /^ *team +Team/m, /^ *second +Second/m)
    const bound = await cli(['teams', 'ls'])
    assertSaid(bound, 0, /^ *team +Team/m)
    assert.doesNotMatch(bound.err, /second/, 'a token of a team sees that one')
  })
  await works('a wrong token', async () => {
    assertSaid(await cli(['whoami'], { token: 'nobody' }), 1, 'Error: The token is unknown, expired or revoked.')
    const ended = await world.operator('POST', '/operator/v1/tokens', { userId: credentials.userId })
    await world.operator('DELETE', `/operator/v1/tokens/${ended.body.id}`)
    assertSaid(
      await cli(['project', 'ls'], { token: ended.body.token }),
      1,
      'The token is unknown, expired or revoked.',
    )
  })
  await works('an unknown team', async () => {
    const rival = await world.user('rival')
    const made = { slug: 'rivals', name: 'Rivals', ownerId: rival.id }
    assert.equal((await world.operator('POST', '/operator/v1/teams', made)).status, 201)
    for (const scope of ['nobody', 'rivals']) {
      const said = await cli(['project', 'ls', '--scope', scope], own)
      assertSaid(said, 1, 'Error: The specified scope does not exist')
    }
  })
  await works('--scope', async () => {
    assertSaid(await cli(['project', 'add', 'mine'], own), 0, 'Project mine added (admin)')
    assertSaid(await cli(['project', 'add', 'ours', '--scope', 'team'], own), 0, 'Project ours added (team)')
    const { body: ours } = await world.api('GET', '/v9/projects')
    const { body: mine } = await world.call('GET', '/v9/projects')
    assert.deepEqual(names(ours), ['ours'])
    assert.deepEqual(names(mine), ['mine'])
    const said = await cli(['project', 'ls'], own)
    assertSaid(said, 0, 'Projects found under admin', /^ {2}mine /m)
    assert.doesNotMatch(said.err, /ours/)
  })
  await works('switch', async () => {
    writeFileSync(at('settings', 'auth.json'), JSON.stringify({ token: credentials.token }))
    const kept = { token: null }
    const current = () => JSON.parse(readFileSync(at('settings', 'config.json'), 'utf8')).currentTeam
    assertSaid(await cli(['switch', 'team'], kept), 0, /Success! The team Team \(team\) is now active/)
    assert.equal(current(), credentials.teamId)
    const said = await cli(['project', 'ls'], kept)
    assertSaid(said, 0, 'Projects found under team', /^ {2}ours /m)
    assert.doesNotMatch(said.err, /mine/)
    assertSaid(await cli(['switch', 'rivals'], kept), 1, /You do not have permission to access scope rivals/)
    assert.equal(current(), credentials.teamId)
    assertSaid(await cli(['switch', 'admin'], kept), 1, 'You cannot set your Personal Account as the scope.')
    assert.equal(current(), credentials.teamId)
  })

  await works(
    'tokens add',
    async () => {
      const said = await cli(['tokens', 'add', 'laptop'], own)
      const made = /berth_[0-9A-Za-z]{40}/.exec(said.out + said.err)?.[0]
      assertSaid(said, 0)
      assert.ok(made !== undefined, `it prints the token: ${said.out}${said.err}`)
      const { body } = await world.as(made)('GET', '/v2/user')
      assert.equal(body.user.username, 'admin')
    },
    'POST /user/tokens',
  )
  let id = ''
  await works(
    'tokens ls',
    async () => {
      const { body } = await world.call('GET', '/v6/user/tokens')
      id = body.tokens.find((token: { name: string }) => token.name === 'laptop')!.id
      const said = await cli(['tokens', 'ls'], own)
      assertSaid(said, 0, 'laptop', id)
      assert.doesNotMatch(said.out + said.err, /berth_/, 'a token is shown once')
    },
    'GET /user/tokens',
  )
  await works(
    'tokens rm',
    async () => {
      const said = await cli(['tokens', 'rm', id], own)
      assertSaid(said, 0)
      const { body } = await world.call('GET', '/v6/user/tokens')
      assert.deepEqual(
        body.tokens.filter((token: { name: string }) => token.name === 'laptop'),
        [],
      )
      assertSaid(await cli(['tokens', 'rm', id], own), 1)
    },
    'DELETE /user/tokens/:id',
  )
  await works(
    'activity',
    async () => {
      const { id } = (await world.api('POST', '/v10/projects', { name: 'another' })).body
      const said = await cli(['activity', '--all', '--limit', '1'])
      assertSaid(said, 0, 'Showing all activity for team team', `- admin: createProject ${id} (name)`, /Actor +admin/)
      const [, next = ''] = /--next (\d+)/.exec(said.err + said.out) ?? assert.fail(`no next page: ${said.err}`)
      assertSaid(await cli(['activity', '--all', '--next', next]), 0, '- admin: createProject')
      const json = await cli(['activity', '--project', 'another', '--type', 'createProject', '--format', 'json'])
      assertSaid(json, 0)
      const { events } = JSON.parse(json.out)
      assert.deepEqual([events.length, events[0].principal.username], [1, 'admin'])
    },
    'GET /events',
  )
  await works(
    'teams members',
    async () => {
      assertSaid(await cli(['teams', 'members', '--scope', 'team']), 0, 'admin', 'OWNER')
    },
    'GET /teams/:idOrSlug/members',
  )
})

function names(page: { projects: { name: string }[] }): string[] {
  return page.projects.map(({ name }) => name)
}

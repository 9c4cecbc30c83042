import assert from 'node:assert/strict'
import { runTimer } from '../../src/timers.ts'
import { seedDeployment } from '../support/projects.ts'
import { assertSaid, onBothClis } from './cli-world.ts'

onBothClis('deployments', async (world) => {
  const { cli, works, api, link, deps, version } = world
  const project = (await api('POST', '/v10/projects', { name: 'web' })).body
  link(project)
  const name = 'www.apps.example.net'
  assert.equal((await api('POST', '/v10/projects/web/domains', { name })).status, 200)
  const first = await seedDeployment(world, project.id, { url: 'first.host.test' })
  const second = await seedDeployment(world, project.id, { url: 'second.host.test' })
  const leadsTo = async () => (await api('GET', '/v4/aliases')).body.aliases[0]?.deploymentId
  // The older one compares the owner of a deployment with the team of its flag, not with the token's.
  const team = version === '39.1.3' ? ['--scope', 'team'] : []
  const swept = setInterval(() => void runTimer(deps, 'alias-requests', deps.clock.now()), 100)
  try {
    await works('promote status', async () => {
      assertSaid(await cli(['promote', 'status', 'web']), 0, 'No deployment promotion in progress')
    })
    await works('promote', async () => {
      assert.equal(await leadsTo(), second)
      assertSaid(
        await cli(['promote', first, '--yes', ...team]),
        0,
        `Success! web was promoted to first.host.test (${first})`,
      )
      assert.equal(await leadsTo(), first)
      const status = await cli(['promote', 'status', 'web', ...team])
      assertSaid(status, 0, `Success! web was promoted to first.host.test (${first})`)
      assertSaid(await cli(['promote', 'dpl_none', '--yes', ...team]), 1, `Can't find the deployment "dpl_none"`)
    })
    await works('rollback', async () => {
      const said = await cli(['rollback', 'second.host.test', '--yes', ...team])
      assertSaid(said, 0, `Success! web was rolled back to second.host.test (${second})`)
      assert.equal(await leadsTo(), second)
      const never = await seedDeployment(world, project.id, { url: 'never.host.test', target: null })
      assertSaid(await cli(['rollback', never, '--yes', ...team]), 1)
      assert.equal(await leadsTo(), second)
    })
    await works('promote and rollback, with an unverified domain', async () => {
      assert.equal((await api('POST', '/v10/projects/web/domains', { name: 'unproven.com' })).body.verified, false)
      assertSaid(await cli(['promote', first, '--yes', ...team]), 0, 'Success! web was promoted')
      assertSaid(await cli(['promote', 'status', 'web', ...team]), 0, 'Success! web was promoted')
      assertSaid(await cli(['rollback', 'second.host.test', '--yes', ...team]), 0, 'Success! web was rolled back')
      assertSaid(await cli(['promote', first, '--yes', ...team]), 0, 'Success! web was promoted')
    })
  } finally {
    clearInterval(swept)
  }
  await works('alias ls', async () => {
    assertSaid(await cli(['alias', 'ls']), 0, /first\.host\.test +www\.apps\.example\.net/)
  })
  await works(
    'alias set',
    async () => {
      const said = await cli(['alias', 'set', 'second.host.test', name, ...team])
      assertSaid(said, 0, name)
      assert.equal(await leadsTo(), second)
    },
    'POST /deployments/:id/aliases',
  )
  await works(
    'alias rm',
    async () => {
      assertSaid(await cli(['alias', 'rm', name, '--yes', ...team]), 0, name)
      assert.equal(await leadsTo(), undefined)
    },
    'DELETE /aliases/:idOrAlias',
  )
})

onBothClis('webhooks', async (world) => {
  const { cli, works, api } = world
  let id = ''
  await works('webhooks create', async () => {
    const words = ['--event', 'project.created', '--event', 'project.removed']
    const said = await cli(['webhooks', 'create', 'https://example.com/hook', ...words])
    assertSaid(said, 0, 'Webhook created: hook_', 'it will not be shown again: whsec_')
    const [made] = (await api('GET', '/v1/webhooks')).body
    id = made.id
    assert.deepEqual([made.url, made.events], ['https://example.com/hook', ['project.created', 'project.removed']])
  })
  await works('webhooks ls', async () => {
    const said = await cli(['webhooks', 'ls'])
    assertSaid(said, 0, '1 Webhook found under team', id, 'https://example.com/hook')
    assert.doesNotMatch(said.out + said.err, /whsec_/)
  })
  await works('webhooks inspect', async () => {
    assertSaid(await cli(['webhooks', 'inspect', id]), 0, `Webhook ${id} found under team`, '- project.created')
    assertSaid(await cli(['webhooks', 'inspect', 'hook_none']), 1, 'not found')
  })
  await works('webhooks rm', async () => {
    const said = await cli(['webhooks', 'rm', id, '--yes'])
    assertSaid(said, 0, `Webhook ${id} removed`)
    assert.equal(said.asked.filter((asked) => asked.startsWith('DELETE')).length, 1, 'it is asked once')
    assert.deepEqual((await api('GET', '/v1/webhooks')).body, [])
  })
})

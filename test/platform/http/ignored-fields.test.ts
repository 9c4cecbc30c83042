/** An unknown field of a change is dropped, as clients send more than they mean, and named in the response. docs/spec/decisions.md: Projects. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('the answer to a PATCH names the fields that are not known, and no others', async (world) => {
  await seedProject(world, 'web')
  const patch = (body: object, headers = {}) => world.call('PATCH', '/v9/projects/web', body, headers)
  const ignored = async (body: object) => (await patch(body)).headers['x-berth-ignored']
  assert.equal(await ignored({ buildCommand: 'make' }), undefined)
  assert.equal(await ignored({ buildComand: 'make', devCommand: 'x' }), 'buildComand')
  const nested = { passwordProtection: null, gitProviderOptions: { createDeployments: 'enabled', creatDeployments: 1 } }
  assert.equal(await ignored(nested), 'gitProviderOptions.creatDeployments')
  // Whatever the name is, the header stays one line.
  assert.equal(await ignored({ 'a\r\nset-cookie: x=1': 1, 'ä, b': 2 }), 'a%0D%0Aset-cookie%3A%20x%3D1, %C3%A4%2C%20b')
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${'x'.repeat(200)}${at}`, 1]))
  const names = String(await ignored(many)).split(', ')
  assert.deepEqual([names.length, names[0], names.at(-1)], [21, 'x'.repeat(100), '...'])
  // An answer that is given again says it again.
  const once = { 'idempotency-key': 'ignored-once' }
  const first = await patch({ instalCommand: 'x' }, once)
  const again = await patch({ instalCommand: 'x' }, once)
  assert.deepEqual(
    [first.headers['x-berth-ignored'], again.headers['x-berth-ignored']],
    ['instalCommand', 'instalCommand'],
  )
})

onBothEngines(
  'what a slip of the pen makes wider than was meant names it: a token, a webhook, a drain',
  async (world) => {
    const made = async (path: string, body: object) => (await world.call('POST', path, body)).headers['x-berth-ignored']
    assert.equal(
      await made('/v3/user/tokens', { name: 'ci', scope: ['read:project'], teamId: 'team_x' }),
      'scope, teamId',
    )
    assert.equal(await made('/v3/user/tokens', { name: 'ci', scopes: ['read:project'] }), undefined)
    const webhook = { url: 'https://hooks.example.com', events: ['project.created'], projects: ['prj_x'] }
    assert.equal(await made('/v1/webhooks', webhook), 'projects')
    const drain = { url: 'https://logs.example.com', deliveryFormat: 'json', sources: ['static'], projectId: 'prj_x' }
    assert.equal(await made('/v1/log-drains', drain), 'projectId')
  },
)

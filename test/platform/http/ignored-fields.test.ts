/** An unknown field of a change is dropped, as clients send more than they mean, and named in the response. docs/spec/decisions.md: Projects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mustBeDeclared, pickDeclared } from '../../../src/platform/http/validate.ts'
import { Type } from '../../../src/platform/schema/builder.ts'
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

test('a value has the fields of the variant of its type, wherever that is in a union', () => {
  const one = Type.Object({ key: Type.String() })
  const variants = [Type.Null(), Type.String(), one, Type.Array(one)]
  for (const first of variants) {
    const schema = Type.Object({ field: Type.Union([first, ...variants.filter((other) => other !== first)]) })
    for (const [given, wanted, unknown] of [
      [{ key: 'k', more: 1 }, { key: 'k' }, 'field.more'],
      [[{ key: 'k' }, { key: 'l', more: 1 }], [{ key: 'k' }, { key: 'l' }], 'field.1.more'],
    ] as const) {
      const dropped: string[] = []
      assert.deepEqual(pickDeclared(schema, { field: given }, dropped), { field: wanted })
      assert.deepEqual(dropped, [unknown])
      assert.throws(() => mustBeDeclared(schema, { field: given }, ''), {
        message: `Invalid request: \`${unknown}\` is not an allowed field here. Allowed: key.`,
      })
      mustBeDeclared(schema, { field: wanted }, '')
    }
    for (const given of [null, 'text']) {
      assert.deepEqual(pickDeclared(schema, { field: given }), { field: given })
      mustBeDeclared(schema, { field: given }, '')
    }
  }
})

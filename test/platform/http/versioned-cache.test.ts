/** A list that is given again as it was, and what ends that, on both engines. docs/architecture.md: Caching. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createVersionedCache } from '../../../src/platform/cache/versioned-cache.ts'
import type { SerializedResponse } from '../../../src/platform/http/response-cache.ts'
import { type Call, migratedDatabase, onBothEngines, openWorld } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

const LIST = '/v9/projects?limit=20'

async function names(call: Call): Promise<string[]> {
  const { status, body } = await call('GET', LIST)
  assert.equal(status, 200)
  return body.projects.map((project: { name: string }) => project.name)
}

onBothEngines('a list that was asked before shows every change that was answered since', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'first' })
  assert.deepEqual(await names(call), ['first'])
  assert.deepEqual(await names(call), ['first'])
  await call('POST', '/v10/projects', { name: 'second' })
  assert.deepEqual(await names(call), ['second', 'first'])
  await call('PATCH', '/v9/projects/first', { name: 'renamed' })
  assert.deepEqual(await names(call), ['renamed', 'second'])
  const variable = { key: 'A', value: '1', type: 'plain', target: ['production'] }
  assert.equal((await call('POST', '/v10/projects/second/env', variable)).status, 201)
  const shown = (await call('GET', LIST)).body.projects.find(({ name }) => name === 'second')!
  assert.deepEqual(
    shown.env.map(({ key }: { key: string }) => key),
    ['A'],
  )
  await call('DELETE', '/v9/projects/renamed')
  assert.deepEqual(await names(call), ['second'])
})

onBothEngines('lists and creates at once: no list misses a project that was answered before it', async ({ call }) => {
  for (let round = 0; round < 10; round++) {
    const name = `project-${round}`
    await Promise.all([names(call), call('POST', '/v10/projects', { name }), names(call), names(call)])
    const [first] = await names(call)
    assert.equal(first, name)
  }
})

onBothEngines('what one token was shown is not shown to another', async ({ call, token, user, as }) => {
  const { body: one } = await call('POST', '/v10/projects', { name: 'one' })
  await call('POST', '/v10/projects', { name: 'two' })
  const narrow = await token({ projectIds: [one.id] })
  const stranger = await user('stranger')
  assert.deepEqual(await names(call), ['two', 'one'])
  assert.deepEqual(await names(narrow), ['one'])
  assert.deepEqual(await names(stranger.call), [])
  assert.equal((await as(undefined).try('GET', LIST)).status, 401)
  assert.deepEqual(await names(call), ['two', 'one'])
})

onBothEngines('a list that was shown before shows nothing for which its caller has lost the right', async (world) => {
  const { teamId } = world.credentials
  const list = `/v9/projects?limit=20&teamId=${teamId}` as const
  const keys = async (call: Call) => (await call('GET', list)).body.projects.map(({ env }) => env.map(({ key }) => key))
  await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })
  const variable = { key: 'A', value: '1', type: 'plain', target: ['preview'] }
  await world.call('POST', `/v10/projects/web/env?teamId=${teamId}`, variable)
  const all = ['read-write:project', 'read:project-env-vars', 'read:global-project-env-vars']
  const { app, call } = await seedInstallation(world, { scopes: all })
  for (let asked = 0; asked < 2; asked++) assert.deepEqual(await keys(call), [['A']])
  await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes: ['read:project'] })
  assert.deepEqual(await keys(call), [[]])
  assert.deepEqual(await keys(world.call), [['A']])
})

test('a list shows what was acknowledged by another instance, whatever was changed [postgres]', async () => {
  const shared = { DATABASE_URL: await migratedDatabase(), BERTH_OPERATOR_TOKEN: 'operator-of-two-instances' }
  const one = await openWorld('postgres', shared)
  const other = await openWorld('postgres', { ...shared, BERTH_KEYS: `${one.folder}/keys.json` })
  try {
    const asked = other.as(one.credentials.token)
    for (let at = 0; at < 22; at++) await one.call('POST', '/v10/projects', { name: `project-${at}` })
    const variable = { key: 'A', value: '1', type: 'plain', target: ['production'] }
    const { created } = (await one.call('POST', '/v10/projects/project-1/env', variable)).body
    const changes: [Parameters<Call>[0], string, object?][] = [
      ['POST', '/v10/projects/project-21/env', variable],
      ['PATCH', `/v9/projects/project-1/env/${created.id}`, { value: '2' }],
      ['PATCH', `/v9/projects/project-1/env/${created.id}`, { comment: 'said' }],
      ['DELETE', `/v9/projects/project-1/env/${created.id}`],
      ['POST', '/v1/projects/project-3/pause', {}],
      ['PATCH', '/v9/projects/project-3', { framework: 'nextjs' }],
      ['PATCH', '/v1/projects/project-3/protection-bypass', {}],
      ['DELETE', '/v9/projects/project-3'],
      ['POST', '/v10/projects', { name: 'one-more' }],
    ]
    for (const [method, url, body] of changes) {
      const before = (await asked('GET', LIST)).text
      assert.equal((await asked('GET', LIST)).text, before)
      const { status, text } = await one.as(one.credentials.token).try(method, url, body)
      assert.ok(status < 300, `${method} ${url}: ${text}`)
      const after = await asked('GET', LIST)
      // A list of 21 is built again each time.
      const { projects } = (await asked('GET', '/v9/projects?limit=21')).body
      assert.deepEqual(after.body.projects, projects.slice(0, 20), `${method} ${url}`)
    }
  } finally {
    await other.close()
    await one.close()
  }
})

test('answers that are known have a limit, and one account a quarter of it', () => {
  const known = createVersionedCache<SerializedResponse>(100_000)
  const written: SerializedResponse = { links: undefined, body: 'x'.repeat(1000) }
  for (let at = 0; at < 100; at++) known.set('large', `${at}`, 's', written)
  assert.ok(known.bytes() <= 25_000)
  assert.equal(known.get('large', '0', 's'), undefined)
  assert.equal(known.get('large', '99', 's'), written)
  assert.equal(known.get('large', '99', 'other'), undefined)
  assert.equal(known.get('small', '99', 's'), undefined)
  for (let at = 0; at < 100; at++) known.set(`account-${at}`, 'key', 's', written)
  assert.ok(known.bytes() <= 100_000 && known.bytes() > 90_000)
  assert.equal(known.get('large', '99', 's'), undefined)
  assert.equal(known.get('account-99', 'key', 's'), written)
  known.set('account-99', 'long', 's', { ...written, body: 'x'.repeat(20_000) })
  assert.equal(known.get('account-99', 'long', 's'), undefined)
})

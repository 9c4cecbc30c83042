/** Who can change domains, and when no caller can. */
import assert from 'node:assert/strict'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { named, seedDomains } from '../../support/worlds/domain-world.ts'

onBothEngines('reading needs project:read, changing needs project:write and domain:write', async (world) => {
  await seedDomains(world, ['a.example.com', 'b.example.com'])
  await seedDomains(world, [], 'second')
  const at = '/v9/projects/web/domains'
  const writes: [method: 'POST' | 'PATCH' | 'DELETE', url: string, body?: object][] = [
    ['POST', '/v10/projects/web/domains', { name: 'c.example.com' }],
    ['PATCH', `${at}/a.example.com`, { gitBranch: 'x' }],
    ['POST', `${at}/a.example.com/verify`],
    ['POST', '/v1/projects/web/domains/a.example.com/move', { projectId: 'second' }],
    ['POST', '/projects/web/alias', { domain: 'd.example.com' }],
    ['DELETE', '/projects/web/alias?domain=b.example.com'],
    ['DELETE', `${at}/a.example.com`],
  ]
  const reads = [at, `${at}/a.example.com`]
  for (const scopes of [
    ['read-write:project'],
    ['read-write:domain'],
    ['read-write:project', 'read:domain'],
    ['read:project', 'read-write:domain'],
  ]) {
    const call = await world.token({ scopes })
    for (const [method, url, body] of writes) {
      const answer = await call.try(method, url, body)
      assert.equal(answer.status, 403, `${scopes} ${method} ${url}`)
      assert.equal(answer.body.error.code, 'forbidden')
    }
  }
  const reader = await world.token({ scopes: ['read:project'] })
  for (const url of reads) assert.equal((await reader('GET', url)).status, 200)
  const domains = await world.token({ scopes: ['read-write:domain'] })
  for (const url of reads) assert.equal((await domains.try('GET', url)).status, 403)
  assert.equal((await domains.try('GET', '/v1/domains/example.com/project-domains')).status, 403)
  assert.equal((await world.as(undefined).try('POST', '/v10/projects/web/domains', {})).status, 401)
  assert.deepEqual(named((await world.call('GET', at)).body.domains), ['b.example.com', 'a.example.com'])
  const both = await world.token({ scopes: ['read-write:project', 'read-write:domain'] })
  assert.equal((await both('POST', '/v10/projects/web/domains', { name: 'c.example.com' })).status, 200)
})

onBothEngines(
  'while an account owes something nothing is added; while a project is transferred nothing changes',
  async (world) => {
    const { call, operator, credentials, deps } = world
    const project = await seedDomains(world, ['a.example.com'])
    const second = await seedDomains(world, ['s.example.com'], 'second')
    const account = (body: object) => operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, body)
    const add = () => call.try('POST', '/v10/projects/web/domains', { name: 'b.example.com' })
    for (const [owes, code] of [
      ['softBlocked', 'account_soft_blocked'],
      ['paymentMissing', 'payment_method_missing'],
    ] as const) {
      await account({ [owes]: true })
      const refused = await add()
      assert.equal(refused.status, 402)
      assert.equal(refused.body.error.code, code)
      assert.equal((await call.try('POST', '/projects/web/alias', { domain: 'b.example.com' })).status, 402)
      assert.equal((await call('PATCH', '/v9/projects/web/domains/a.example.com', {})).status, 200)
      await account({ [owes]: false })
    }
    const transfer = (moment: number | null) => setInTransfer(world, project.id, moment)
    await transfer(deps.clock.now())
    const locked = [
      await add(),
      await call.try('PATCH', '/v9/projects/web/domains/a.example.com', { gitBranch: 'x' }),
      await call.try('DELETE', '/v9/projects/web/domains/a.example.com'),
      await call.try('POST', '/projects/web/alias', { domain: 'b.example.com' }),
      await call.try('DELETE', '/projects/web/alias?domain=a.example.com'),
      await call.try('POST', '/v1/projects/web/domains/a.example.com/move', { projectId: second.id }),
      await call.try('POST', '/v1/projects/second/domains/s.example.com/move', { projectId: project.id }),
    ]
    assert.deepEqual(
      locked.map((answer) => answer.status),
      Array(7).fill(409),
    )
    assert.deepEqual(named((await call('GET', '/v9/projects/web/domains')).body.domains), ['a.example.com'])
    await transfer(null)
    assert.equal((await add()).status, 200)
  },
)

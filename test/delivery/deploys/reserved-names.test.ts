/** No account can claim the names that Berth assigns, or could assign, to deployments. docs/domains.md: Berth's own names; docs/deploying-sites.md: Addresses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { couldBeAddress, deploymentAddress, movingAddress } from '../../../src/model/addresses.ts'
import { seedProject } from '../../support/projects.ts'
import { type Call, onBothEngines } from '../../support/world.ts'
import { readDomainAssignments } from '../../support/worlds/deploy-world.ts'
import { create, deploy, SITE, SUFFIX, uploadAll } from './deploying.ts'

const MAIN = { gitMetadata: { commitRef: 'main' }, target: 'production' }
const DOMAINS = { platformSuffix: 'apps.example.net' }

test('addresses of all kinds are distinct labels of at most 63 characters, and all have the form that no account can claim', () => {
  const names = ['web', '...', '_', 'a'.repeat(100), `${'b'.repeat(53)}-c`, 'x--y', 'xn--abc', 'w.e_b-']
  const branches = [undefined, 'main', 'Main', 'feature/x', 'feature-x', '日本語', '-', 'd'.repeat(250)]
  const seen = new Set<string>()
  for (const projectName of names) {
    const of = { accountId: 'usr_1', projectId: `prj_${projectName}`, projectName }
    const all = [
      deploymentAddress({ ...of, deploymentId: 'dpl_1' }, DOMAINS),
      ...branches.flatMap((branch) => [0, 1].map((attempt) => movingAddress({ ...of, branch, attempt }, DOMAINS))),
    ]
    for (const name of all) {
      assert.match(name, /^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]\.apps\.example\.net$/, projectName)
      assert.doesNotMatch(name, /--/)
      assert.equal(couldBeAddress(name, DOMAINS), true, name)
      seen.add(name)
    }
  }
  assert.equal(seen.size, names.length * (1 + branches.length * 2))
  for (const name of ['demo', 'demo-1', 'website', 'dashboard', 'a-1234567', 'a-12345678901', '-12345678.x'])
    assert.equal(couldBeAddress(`${name}.apps.example.net`, DOMAINS), false, name)
  assert.equal(couldBeAddress('a-12345678.example.net', DOMAINS), false)
  assert.match(
    movingAddress(
      { accountId: 'a', projectId: 'p', projectName: 'web', branch: undefined, attempt: 0 },
      { platformSuffix: undefined },
    ),
    /\.berth\.localhost$/,
  )
})

/** Every operation that adds a name to an account. */
function ways(call: Call, deploymentId: string) {
  return (name: string) => [
    call.try('POST', '/v10/projects/shop/domains', { name }),
    call.try('POST', '/v2/projects/shop/alias', { domain: name, target: 'PRODUCTION' }),
    call.try('POST', `/v2/deployments/${deploymentId}/aliases`, { alias: name }),
    call.try('POST', `/v2/deployments/${deploymentId}/aliases`, { alias: name.replace('.apps.example.net', '') }),
  ]
}

onBothEngines(
  'names that a project could be assigned are refused to other accounts in every operation, also during the assignment',
  async (world) => {
    const { call } = world
    const eve = await world.user('eve')
    await eve.call('POST', '/v10/projects', { name: 'shop' })
    const own = await deploy(eve.call, SITE, { name: 'shop', target: 'production' })
    const projectId = await seedProject(world, 'web')
    await uploadAll(call, SITE)
    const of = { accountId: world.credentials.userId, projectId, projectName: 'web' }
    const names = [0, 1, 2].flatMap((attempt) =>
      [undefined, 'main'].map((branch) => movingAddress({ ...of, branch, attempt }, world.deps.config.domains)),
    )
    const before = await readDomainAssignments({ ...world, call: eve.call })
    const take = ways(eve.call, own.id)
    const [made, ...taken] = await Promise.all([create(call, SITE, MAIN), ...names.flatMap(take)])
    assert.equal(made!.status, 200, made!.text)
    const again = await Promise.all([made!.body.url, ...names].flatMap(take))
    for (const answer of [...taken, ...again]) {
      assert.ok([403, 409].includes(answer.status), answer.text)
      assert.match(
        (answer.body as { error: { message: string } }).error.message,
        /^Cannot use ".*": Berth gives names that end in .*Use a label that ends otherwise, or a domain of your own/,
      )
    }
    assert.deepEqual(made!.body.alias, [names[0], names[1]])
    assert.deepEqual(await readDomainAssignments({ ...world, call: eve.call }), before)
    assert.deepEqual((await eve.call('GET', '/v9/projects/shop/domains')).body.domains, [])
    // A project of the same name, by a rename, gives no name of the other.
    await eve.call('PATCH', '/v9/projects/shop', { name: 'web' })
    const renamed = await deploy(eve.call, SITE, { ...MAIN, meta: { n: '1' } })
    assert.deepEqual(
      renamed.alias.filter((name: string) => names.includes(name)),
      [],
    )
    assert.equal(
      (await eve.call('POST', '/v10/projects/web/domains', { name: 'free.apps.example.net' })).body.verified,
      true,
    )
  },
  SUFFIX,
)

onBothEngines(
  'a name that an account already has stays its own: the project is assigned another one',
  async (world) => {
    const { call } = world
    const eve = await world.user('eve')
    const projectId = await seedProject(world, 'web')
    const of = { accountId: world.credentials.userId, projectId, projectName: 'web', branch: undefined, attempt: 0 }
    const { domains } = world.deps.config
    const name = movingAddress(of, domains)
    // The platform had another suffix when it was added.
    domains.platformSuffix = 'other.example.net'
    await eve.call('POST', '/v10/projects', { name: 'shop' })
    assert.equal((await eve.call('POST', '/v10/projects/shop/domains', { name })).body.verified, true)
    domains.platformSuffix = 'apps.example.net'
    const made = await deploy(call, SITE, MAIN)
    const second = movingAddress({ ...of, attempt: 1 }, domains)
    assert.deepEqual(made.alias.includes(name), false)
    assert.equal(made.alias[0], second)
    assert.equal((await eve.call('GET', `/v9/projects/shop/domains/${name}`)).body.verified, true)

    // An address under a former suffix is reserved too, and ends when the next one is assigned.
    domains.platformSuffix = 'other.example.net'
    const refused = await eve.call.try('POST', '/v10/projects/shop/domains', { name: second })
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'domain_not_allowed'])
    assert.match(refused.body.error.message, /is the address of a project or of one of its branches/)
    const next = await deploy(call, SITE, { ...MAIN, meta: { n: '1' } })
    assert.match(next.alias[0]!, /^web-[a-z0-9]{8}\.other\.example\.net$/)
    assert.equal(Object.keys(await readDomainAssignments(world)).length, 2)
  },
  { ...SUFFIX, BERTH_DOMAIN_PROOF: 'contested' },
)

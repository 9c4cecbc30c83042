/** What an account's plan, its debts and a transfer allow. Specification: Errors; docs/spec/decisions.md: Plans and billing, Transfer. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { endTransfer, setInTransfer } from '../../support/states.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, type Call, onBothEngines, type World } from '../../support/world.ts'

const IPS = { deploymentType: 'all', addresses: [{ value: '10.0.0.1', note: 'office' }], protectionMode: 'exclusive' }
const PASSWORD = { deploymentType: 'preview', password: 'correct horse' }

/** Upstream's plans have these rules: an account has them once it is on one. */
async function account(world: World, body: object): Promise<void> {
  const answer = await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, body)
  assert.equal(answer.status, 200, answer.text)
}

function said(answer: ApiResponse): unknown[] {
  return [answer.status, answer.body?.error?.code]
}

/** Operations 1 to 8 on project `web`, in the order of the specification's table. */
const operations = (call: Call) => ({
  create: () => call.try('POST', '/v10/projects', { name: `n${Math.random().toString(36).slice(2)}` }),
  list: () => call.try('GET', '/v9/projects'),
  get: () => call.try('GET', '/v9/projects/web'),
  update: () => call.try('PATCH', '/v9/projects/web', { devCommand: 'run' }),
  pause: () => call.try('POST', '/v1/projects/web/pause'),
  unpause: () => call.try('POST', '/v1/projects/web/unpause'),
  dataCache: () => call.try('PATCH', '/v1/data-cache/projects/web', { disabled: true }),
  remove: () => call.try('DELETE', '/v9/projects/web'),
})

onBothEngines(
  'an account with a missing payment gets 402 from operations 1, 4 and 6, and from no other',
  async (world) => {
    for (const [flag, code] of [
      ['softBlocked', 'account_soft_blocked'],
      ['paymentMissing', 'payment_method_missing'],
    ] as const) {
      await seedProject(world, 'web')
      await account(world, { [flag]: true })
      const before = await digest(world)
      const all = operations(world.call)
      for (const name of ['create', 'update', 'pause'] as const)
        assert.deepEqual(said(await all[name]()), [402, code], name)
      assert.equal(await digest(world), before)
      for (const name of ['list', 'get', 'unpause', 'dataCache'] as const)
        assert.equal((await all[name]()).status, 200, name)
      await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: flag.toLowerCase() })
      assert.equal(
        (await world.call('GET', '/v9/projects?slug=team&limit=1')).body.projects[0].name,
        flag.toLowerCase(),
      )
      assert.equal((await all.remove()).status, 204)
      await account(world, { [flag]: false })
      assert.equal((await all.create()).status, 200)
    }
    await account(world, { softBlocked: true, paymentMissing: true })
    assert.deepEqual(said(await operations(world.call).create()), [402, 'account_soft_blocked'])
  },
)

onBothEngines('password protection needs the add-on or the enterprise plan, else 428', async (world) => {
  await seedProject(world, 'web')
  const set = () => world.call.try('PATCH', '/v9/projects/web', { passwordProtection: PASSWORD })
  for (const plan of ['hobby', 'pro']) {
    await account(world, { plan, addOns: [] })
    assert.deepEqual(said(await set()), [428, 'protection_addon_required'], plan)
    assert.equal((await world.call('PATCH', '/v9/projects/web', { passwordProtection: null })).status, 200, plan)
    await account(world, { addOns: ['advanced-deployment-protection'] })
    assert.equal((await set()).status, 200, plan)
  }
  await account(world, { plan: 'enterprise', addOns: [] })
  assert.equal((await set()).status, 200)
})

onBothEngines('protecting all deployments is not for the hobby plan: 428 at create and update', async (world) => {
  await seedProject(world, 'web')
  const set = (deploymentType: string) => [
    world.call.try('PATCH', '/v9/projects/web', { ssoProtection: { deploymentType } }),
    world.call.try('POST', '/v10/projects', {
      name: `s${Math.random().toString(36).slice(2)}`,
      ssoProtection: { deploymentType },
    }),
  ]
  await account(world, { plan: 'hobby' })
  for (const answer of await Promise.all(set('all'))) {
    assert.deepEqual(said(answer), [428, 'advanced_protection_unavailable'])
  }
  for (const type of ['preview', 'prod_deployment_urls_and_all_previews']) {
    for (const answer of await Promise.all(set(type))) assert.equal(answer.body.ssoProtection.deploymentType, type)
  }
  await account(world, { plan: 'pro' })
  for (const answer of await Promise.all(set('all'))) assert.equal(answer.status, 200)
})

onBothEngines('trusted IPs are for the enterprise plan, and only IPv4 addresses and ranges', async (world) => {
  await seedProject(world, 'web')
  const set = (trustedIps: unknown) => world.call.try('PATCH', '/v9/projects/web', { trustedIps })
  for (const plan of ['hobby', 'pro']) {
    await account(world, { plan, addOns: ['advanced-deployment-protection'] })
    assert.deepEqual(said(await set(IPS)), [400, 'trusted_ips_enterprise_only'], plan)
    const made = await world.call.try('POST', '/v10/projects', { name: 'new', trustedIps: IPS })
    assert.deepEqual(said(made), [400, 'trusted_ips_enterprise_only'], plan)
  }
  await account(world, { plan: 'enterprise' })
  assert.deepEqual((await set(IPS)).body.trustedIps, IPS)
  for (const value of ['0.0.0.0', '255.255.255.255', '10.0.0.0/8', '1.2.3.4/0', '1.2.3.4/32']) {
    assert.equal((await set({ ...IPS, addresses: [{ value }] })).body.trustedIps.addresses[0].value, value)
  }
  const bad = [
    '',
    'x',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.4/33',
    '1.2.3.4/',
    '1.2.3.4/-1',
    '::1',
    '01.2.3.4',
    ' 1.2.3.4',
    '1.2.3.4/8/8',
  ]
  for (const value of bad) {
    const answer = await set({ ...IPS, addresses: [{ value: '1.1.1.1' }, { value }] })
    assert.deepEqual(said(answer), [400, 'bad_request'], value)
    assert.match(answer.body.error.message, /`trustedIps\.addresses\.1\.value`/)
  }
  const shapes = [
    { ...IPS, addresses: [] },
    { ...IPS, protectionMode: 'some' },
    { ...IPS, deploymentType: 'none' },
    [],
    'all',
    1,
    true,
  ]
  const { protectionMode: _, ...withoutMode } = IPS
  for (const wrong of [...shapes, withoutMode, { ...IPS, addresses: [{}] }, { ...IPS, addresses: 'x' }]) {
    const answer = await set(wrong)
    assert.deepEqual(said(answer), [400, 'bad_request'], JSON.stringify(wrong))
    assert.match(answer.body.error.message, /`trustedIps/)
  }
  assert.equal((await world.call('GET', '/v9/projects/web')).body.trustedIps.addresses[0].value, '1.2.3.4/32')
})

onBothEngines('turning a protection off is always allowed', async (world) => {
  await seedProject(world, 'web')
  await account(world, { plan: 'enterprise' })
  const set = { trustedIps: IPS, passwordProtection: PASSWORD, ssoProtection: { deploymentType: 'all' } }
  assert.equal((await world.call('PATCH', '/v9/projects/web', set)).status, 200)
  await account(world, { plan: 'hobby' })
  assert.equal((await world.call('PATCH', '/v9/projects/web', { devCommand: 'run' })).status, 200)
  for (const name of Object.keys(set)) {
    const answer = await world.call('PATCH', '/v9/projects/web', { [name]: null })
    assert.deepEqual([answer.status, (answer.body as Record<string, unknown>)[name]], [200, null], name)
  }
  const row = await world.deps.db.read.selectFrom('project').selectAll().executeTakeFirstOrThrow()
  assert.equal(row.password_hash, null)
})

onBothEngines(
  'while a project is in transfer, update and delete answer 409, and afterwards they do not',
  async (world) => {
    const id = await seedProject(world, 'web')
    await setInTransfer(world, id, 5)
    const all = operations(world.call)
    for (const name of ['update', 'remove'] as const) assert.deepEqual(said(await all[name]()), [409, 'conflict'], name)
    for (const name of ['list', 'get', 'pause', 'unpause', 'dataCache'] as const)
      assert.equal((await all[name]()).status, 200, name)
    const { body } = await all.get()
    assert.deepEqual(
      [body.transferStartedAt, body.transferToAccountId, 'transferCompletedAt' in body],
      [5, 'team_x', false],
    )
    await endTransfer(world, id)
    assert.equal((await all.update()).status, 200)
    assert.equal((await all.remove()).status, 204)
  },
)

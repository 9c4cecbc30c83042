/** What the newest SDK and the Terraform provider send of a project: kept and answered, or, where it protects, in force or refused. */
import assert from 'node:assert/strict'
import { passwordMatches } from '../../src/platform/adapters/argon2.ts'
import { type ProtectedProject, protectionOf } from '../../src/platform/verdict/protection.ts'
import { type ApiResponse, onBothEngines, type World } from '../support/world.ts'

function refused(answer: ApiResponse, status: number, named: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.ok(answer.text.includes(named), answer.text)
}

const KEPT = {
  nodeVersion: '24.x',
  framework: 'hono',
  resourceConfig: {
    functionDefaultRegions: ['fra1'],
    buildMachineType: 'turbo',
    buildMachineSelection: 'fixed',
    buildQueue: { configuration: 'SKIP_NAMESPACE_QUEUE' },
    enableFunctionsBeta: true,
  },
  gitProviderOptions: {
    createDeployments: 'disabled',
    gitCommitStatus: false,
    consolidatedGitCommitStatus: { enabled: true, propagateFailures: false },
  },
  skewProtectionAllowedDomains: ['a.example.com'],
  staticIps: { enabled: true, builds: true, regions: ['fra1'] },
  enableExternalRewriteCaching: true,
  sandbox: { region: 'fra1', failoverRegions: ['iad1'] },
  tracing: { domains: 'example.com', ignorePaths: ['/x'], samplingRules: [{ rate: 0.5, env: 'production' }] },
  dismissedToasts: [{ key: 'k', dismissedAt: 1, action: 'accept', value: { previousValue: 1, currentValue: 'a' } }],
  oidcTokenConfig: { enabled: false, issuerMode: 'global' },
}

onBothEngines('what the newest clients send of a project is kept at create and at update', async ({ call }) => {
  const read = async (name: string): Promise<Record<string, unknown>> =>
    (await call('GET', `/v9/projects/${name}`)).body
  assert.equal((await call('POST', '/v10/projects', { name: 'made', ...KEPT })).status, 200)
  await call('POST', '/v10/projects', { name: 'changed' })
  assert.equal((await call('PATCH', '/v9/projects/changed', KEPT)).status, 200)
  for (const name of ['made', 'changed']) {
    const project = await read(name)
    for (const [field, value] of Object.entries(KEPT)) assert.deepEqual(project[field], value, field)
  }
  // What the provider leaves out is filled in, so that every SDK decodes it.
  const connected = { envId: 'preview', connectConfigurationId: 'c', passive: true, buildsEnabled: false }
  const filled = await call('PATCH', '/v9/projects/changed', {
    oidcTokenConfig: { issuerMode: 'team' },
    gitProviderOptions: { gitCommitStatus: true },
    staticIps: { enabled: false },
    dismissedToasts: [{ key: 'k', dismissedAt: 1, action: 'cancel' }],
    connectConfigurations: [connected],
  })
  assert.deepEqual(filled.body.oidcTokenConfig, { enabled: true, issuerMode: 'team' })
  assert.deepEqual(filled.body.gitProviderOptions, { createDeployments: 'enabled', gitCommitStatus: true })
  assert.deepEqual(filled.body.staticIps, { builds: false, regions: [], enabled: false })
  assert.equal(filled.body.dismissedToasts[0].value, null)
  const [{ createdAt, updatedAt, ...rest }] = filled.body.connectConfigurations
  assert.deepEqual([rest, createdAt > 0, updatedAt], [connected, true, createdAt])
})

onBothEngines(
  'a protection that Berth does not have is refused, and one that asks for nothing is not',
  async ({ call }) => {
    await call('POST', '/v10/projects', { name: 'other' })
    for (const body of [
      { passport: { connectorId: 'c' } },
      { deploymentPolicy: { gitSources: [{ enabled: true, environments: [], sources: [] }] } },
      { password: 'secret' },
      { ipRestrictions: ['10.0.0.0/8'] },
      { vercelAuthentication: { deploymentType: 'standard_protection' } },
      { protectionBypass: { generate: true } },
    ]) {
      const [field] = Object.keys(body) as [string]
      const no = `\`${field}\` is not a setting that Berth has`
      refused(await call.try('POST', '/v10/projects', { name: 'web', ...body }), 400, no)
      refused(await call.try('PATCH', '/v9/projects/other', body), 400, no)
    }
    assert.equal(
      (await call('POST', '/v10/projects', { name: 'web', passport: null, deploymentPolicy: 'default' })).status,
      200,
    )
    const project = (await call('GET', '/v9/projects/web')).body
    assert.deepEqual(['passport' in project, 'deploymentPolicy' in project], [false, false])
  },
)

async function guardedBy(world: World, name: string): Promise<ProtectedProject> {
  return world.deps.db.read.selectFrom('project').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
}

onBothEngines(
  'a password in the create request protects from the beginning, where the plan allows it',
  async (world) => {
    const { call } = world
    const passwordProtection = { deploymentType: 'all', password: 'secret' }
    const plan = (said: object) => world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, said)
    await plan({ plan: 'hobby', addOns: [] })
    refused(await call.try('POST', '/v10/projects', { name: 'web', passwordProtection }), 428, 'protection')
    await plan({ plan: 'enterprise' })
    for (const password of [undefined, null, '']) {
      const body = { name: 'web', passwordProtection: { deploymentType: 'all', password } }
      refused(await call.try('POST', '/v10/projects', body), 400, '`passwordProtection.password`')
    }
    assert.equal((await call.try('GET', '/v9/projects/web')).status, 404)
    const made = await call('POST', '/v10/projects', { name: 'web', passwordProtection })
    assert.deepEqual([made.status, made.body.passwordProtection], [200, { deploymentType: 'all' }])
    const { password } = protectionOf(await guardedBy(world, 'web'))!
    assert.equal(password!.covers, 'all')
    assert.equal(await passwordMatches('secret', password!.hash), true)
    assert.equal(
      (await call('POST', '/v10/projects', { name: 'open', passwordProtection: null })).body.passwordProtection,
      null,
    )
    assert.equal(protectionOf(await guardedBy(world, 'open')), undefined)
  },
)

onBothEngines(
  'a new project has the Node.js version that the operator says, or its own',
  async ({ call }) => {
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).body.nodeVersion, '24.x')
    assert.equal((await call('POST', '/v10/projects', { name: 'own', nodeVersion: '22.x' })).body.nodeVersion, '22.x')
  },
  { BERTH_DEFAULT_NODE_VERSION: '24.x' },
)

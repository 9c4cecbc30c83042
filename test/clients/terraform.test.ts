/**
 * The Terraform provider's sequence of calls for each resource, for a user and for a team: what it sends is kept, and what it then
 * reads back is what it sent, so that the next plan is empty. docs/spec/client-requests.md C.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { ROUTES } from '../../src/routes.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { type GitHosts, startGitHosts } from '../support/worlds/full-project.ts'
import { seedInstallation } from '../support/worlds/integration-world.ts'
import { note } from './ledger.ts'
import type { Decoded } from './sdk-client.ts'
import { ALWAYS_THERE, type ApiError, isGone, listVariables, newProvider, type Provider } from './terraform-provider.ts'

const dns = await startDnsServer()
const hosts: GitHosts = await startGitHosts()
after(() => Promise.all([dns.close(), hosts.close()]))

/** What the resources of one scope are tried with. `row` runs a step and notes it once it did not throw. */
type Scope = {
  world: World
  ask: Provider
  label: string
  accountId: string
  teamId: string | undefined
  row(name: string, step: () => Promise<void>): Promise<void>
}

const served = (operationId: string) => ROUTES.some((route) => route.operationId === operationId)

onBothEngines(
  'the calls of the Terraform provider keep what they send',
  async (world) => {
    const { userId, teamId, token } = world.credentials
    const origin = await world.listen()
    const seen = new Set<string>()
    for (const team of [undefined, teamId]) {
      const accountId = team ?? userId
      await world.operator('PATCH', `/operator/v1/accounts/${accountId}`, { plan: 'enterprise' })
      await hosts.allow(world, accountId)
      const row = async (name: string, step: () => Promise<void>) => {
        await step()
        seen.add(name)
      }
      const label = team === undefined ? 'mine' : 'ours'
      const scope = { world, ask: newProvider(origin, token, team), label, accountId, teamId: team, row }
      await tryProject(scope)
      await tryDomain(scope)
      await tryVariables(scope)
      await tryWebhook(scope)
      await tryDrain(scope)
      await tryAccess(scope)
      await tryEnvironment(scope)
      await trySharedVariable(scope)
      await tryPeople(scope)
    }
    for (const operation of seen)
      note({ client: 'terraform-provider', operation, engine: world.engine, outcome: 'works' })
  },
  { BERTH_DNS_SERVERS: dns.address, BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

/** Pointers without `omitempty`: null when the configuration does not say them. */
const UNSAID = {
  ...{ buildCommand: null, devCommand: null, framework: null, installCommand: null, outputDirectory: null },
  ...{ publicSource: null, rootDirectory: null, previewDeploymentSuffix: null },
}
const UNSAID_ON_UPDATE = {
  ...UNSAID,
  ...{ commandForIgnoringBuildStep: null, enablePreviewFeedback: null, enableProductionFeedback: null },
  ...{ ssoProtection: null, passwordProtection: null, trustedIps: null, trustedSources: null },
  ...{ oidcTokenConfig: null, optionsAllowlist: null, gitComments: null, gitProviderOptions: null },
}
const FLAGS = {
  ...{ autoExposeSystemEnvs: true, autoAssignCustomDomains: true, customerSupportCodeVisibility: false },
  ...{ directoryListing: false, gitForkProtection: true, gitLFS: false, productionDeploymentsFastLane: false },
  ...{ serverlessFunctionZeroConfigFailover: false, previewDeploymentsDisabled: false, protectedSourcemaps: false },
  ...{ skewProtectionMaxAge: 0, enableAffectedProjectsDeployments: false },
}
const SAID = {
  ...{ buildCommand: 'make', devCommand: 'run', framework: 'nextjs', installCommand: 'i', outputDirectory: 'out' },
  ...{ publicSource: false, rootDirectory: 'web', previewDeploymentSuffix: 'p.example.com' },
  ...{ commandForIgnoringBuildStep: 'true', enablePreviewFeedback: true, enableProductionFeedback: false },
  ssoProtection: { deploymentType: 'all_except_custom_domains' },
  trustedIps: { deploymentType: 'all', addresses: [{ value: '10.0.0.0/8', note: 'o' }], protectionMode: 'additional' },
  trustedSources: { any: true },
  oidcTokenConfig: { enabled: true, issuerMode: 'team' },
  optionsAllowlist: { paths: [{ value: '/api' }] },
  gitComments: { onPullRequest: true, onCommit: false },
  gitProviderOptions: { createDeployments: 'enabled' },
  resourceConfig: {
    ...{ functionDefaultMemoryType: 'performance', functionDefaultTimeout: 60, fluid: true },
    functionDefaultRegions: ['fra1'],
  },
  nodeVersion: '20.x',
}

/** Every field that was sent is read back as it was sent; `null` is null or absent, which are one thing to Go. */
function noDrift(sent: Record<string, unknown>, read: Decoded): void {
  for (const [field, value] of Object.entries(sent)) {
    // Read back as {deploymentType}: the provider keeps the password of its own state.
    if (field === 'environmentVariables' || field === 'gitRepository' || field === 'passwordProtection') continue
    if (field === 'resourceConfig') assert.deepEqual({ ...read[field], ...(value as object) }, read[field], field)
    else assert.deepEqual(read[field] ?? null, value, field)
  }
  for (const [field, type] of Object.entries(ALWAYS_THERE)) assert.equal(typeof read[field], type, field)
  for (const { target } of read.env ?? []) assert.ok(Array.isArray(target))
}

async function tryProject(scope: Scope): Promise<void> {
  const { ask, row, label } = scope
  const name = `tf-${label}`
  const variable = { key: 'FIRST', value: 'f', target: ['production'], type: 'encrypted', comment: '' }
  const created = { ...UNSAID, name, environmentVariables: [variable], resourceConfig: { fluid: true } }
  let id = ''
  await row('vercel_project create', async () => {
    const made = await ask('POST', '/v8/projects', {
      ...created,
      gitRepository: { type: 'github', repo: 'acme/web' },
    })
    id = made.id
    noDrift(created, made)
    const [first] = await listVariables(ask, id)
    assert.deepEqual([first.key, first.value, first.decrypted], ['FIRST', 'f', true])
    noDrift(FLAGS, await ask('PATCH', `/v9/projects/${id}`, { ...UNSAID_ON_UPDATE, ...FLAGS }))
    const branched = await ask('PATCH', `/v9/projects/${id}/branch`, { branch: 'trunk' })
    assert.deepEqual([branched.link.productionBranch, branched.link.deployHooks], ['trunk', []])
  })
  await row('vercel_project read', async () => {
    const read = await ask('GET', `/v10/projects/${id}`)
    noDrift({ ...created, ...UNSAID_ON_UPDATE, ...FLAGS }, read)
    assert.deepEqual([read.link.type, read.link.org, read.link.repo], ['github', 'acme', 'web'])
    await isGone(ask('GET', '/v10/projects/prj_none'))
  })
  await row('vercel_project update', async () => {
    const flags = Object.fromEntries(Object.entries(FLAGS).map(([key, flag]) => [key, flag === 0 ? 600 : !flag]))
    const body = { ...SAID, ...flags, name, passwordProtection: { deploymentType: 'preview', password: 'p' } }
    noDrift(body, await ask('PATCH', `/v9/projects/${id}`, body))
    const read = await ask('GET', `/v10/projects/${id}`)
    noDrift(body, read)
    assert.equal(read.passwordProtection.deploymentType, 'preview')
    await ask('PATCH', `/v9/projects/${id}`, { ...UNSAID_ON_UPDATE, ...FLAGS, name })
    noDrift({ ...UNSAID_ON_UPDATE, ...FLAGS, name }, await ask('GET', `/v10/projects/${id}`))
  })
  await row('vercel_project update, what newer versions send', async () => {
    // As its models have them: no `enabled`, unset fields left out.
    const sent = {
      oidcTokenConfig: { issuerMode: 'global' },
      gitProviderOptions: { createDeployments: 'disabled', requireVerifiedCommits: true },
      nodeVersion: '24.x',
      resourceConfig: { buildMachineType: 'enhanced', fluid: false },
    }
    const read = await ask('PATCH', `/v9/projects/${id}`, { ...UNSAID_ON_UPDATE, ...FLAGS, ...sent, name })
    assert.equal(read.oidcTokenConfig.issuerMode, 'global')
    noDrift(
      { gitProviderOptions: sent.gitProviderOptions, nodeVersion: '24.x', resourceConfig: sent.resourceConfig },
      read,
    )
    await ask('PATCH', `/v9/projects/${id}`, { ...UNSAID_ON_UPDATE, ...FLAGS, name, nodeVersion: '20.x' })
  })
  await row('vercel_project update, its variables', async () => {
    const [{ id: old }] = await listVariables(ask, id)
    await ask('DELETE', `/v8/projects/${id}/env/${old}`)
    // At once: the list after a delete has it no more.
    assert.deepEqual(await listVariables(ask, id), [])
    const { created: made, failed } = await ask('POST', `/v10/projects/${id}/env`, [
      { ...variable, value: 'second' },
      { ...variable, key: 'SECOND' },
    ])
    assert.deepEqual([made.length, failed], [2, []])
  })
  await row('vercel_project update, its repository', async () => {
    assert.equal((await ask('DELETE', `/v9/projects/${id}/link`)).link, undefined)
    const gitlab = (await ask('POST', `/v9/projects/${id}/link`, { type: 'gitlab', repo: 'acme/web' })).link
    assert.deepEqual([gitlab.projectNamespace, gitlab.projectUrl.split('/').at(-1)], ['acme', 'web'])
    assert.match(gitlab.projectId, /^\d+$/, 'a string of digits: Go reads `projectId,string`')
    await ask('DELETE', `/v9/projects/${id}/link`)
    const bitbucket = (await ask('POST', `/v9/projects/${id}/link`, { type: 'bitbucket', repo: 'acme/web' })).link
    assert.deepEqual([bitbucket.owner, bitbucket.slug], ['acme', 'web'])
  })
  await row('data vercel_project, vercel_projects', async () => {
    assert.equal((await ask('GET', `/v10/projects/${name}`)).id, id)
    const { projects } = await ask('GET', '/v8/projects?limit=100')
    assert.deepEqual(
      projects.map((project: Decoded) => project.id),
      [id],
    )
  })
  await row('vercel_project_protection_bypass create, delete', async () => {
    const path = `/v10/projects/${id}/protection-bypass`
    const [secret] = Object.keys((await ask('PATCH', path, { generate: {} })).protectionBypass)
    assert.match(secret!, /^[A-Za-z0-9]{32}$/)
    // `{}` makes one too, as the CLI asks for it.
    const both = Object.keys((await ask('PATCH', path, {})).protectionBypass)
    assert.equal(both.length, 2)
    await ask('PATCH', path, { revoke: { secret: both.find((one) => one !== secret), regenerate: false } })
    await ask('PATCH', path, { revoke: { secret, regenerate: false } })
    assert.deepEqual((await ask('GET', `/v10/projects/${id}`)).protectionBypass ?? {}, {})
  })
  await row('vercel_project_deployment_retention', async () => {
    const unlimited = {
      expirationProduction: 'unlimited',
      expirationCanceled: 'unlimited',
      expirationErrored: 'unlimited',
    }
    const path = `/v9/projects/${id}/deployment-expiration`
    const { deploymentExpiration } = await ask('PATCH', path, { expiration: '1m', ...unlimited })
    assert.deepEqual(deploymentExpiration, { expiration: '1m', ...unlimited })
    // It is read back as days.
    const read = (await ask('GET', `/v2/projects/${id}`)).deploymentExpiration
    assert.deepEqual([read.expirationDays, read.expirationDaysProduction], [30, 36_500])
  })
  await row('vercel_project_crons', async () => {
    for (const enabled of [false, true]) {
      const made = await ask('PATCH', `/v1/projects/${id}/crons`, { enabled })
      const read = await ask('GET', `/v10/projects/${id}`)
      for (const { crons } of [made, read]) assert.equal(crons.disabledAt === null, enabled)
    }
  })
  await row('vercel_project delete', async () => {
    assert.equal(await ask('DELETE', `/v8/projects/${id}`), undefined)
    await isGone(ask('GET', `/v10/projects/${id}`))
  })
}

async function tryDrain({ ask, row, accountId }: Scope): Promise<void> {
  const delivery = {
    type: 'http',
    endpoint: 'https://logs.example.com',
    encoding: 'json',
    headers: {},
    secret: 's'.repeat(32),
  }
  const [sources, environments] = [['static', 'redirect'], ['production']]
  const filter = { version: 'v2', filter: { type: 'basic', log: { sources }, deployment: { environments } } }
  const wanted = {
    name: 'logs',
    projects: 'all',
    filter,
    schemas: { log: { version: 'v1' } },
    source: { kind: 'self-served' },
  }
  const sampling = [{ type: 'head_sampling', rate: 0.5 }]
  /** What the provider compares with its plan. */
  const comparable = (drain: Decoded) => ({
    ...{ name: drain.name, ownerId: drain.ownerId, projectIds: drain.projectIds, rate: drain.sampling[0].rate },
    ...{ endpoint: drain.delivery.endpoint, encoding: drain.delivery.encoding, headers: drain.delivery.headers },
    sources: drain.filterV2.filter.log.sources,
    environments: drain.filterV2.filter.deployment.environments,
  })
  await row('vercel_log_drain create, read, delete', async () => {
    const made = await ask('POST', '/v1/drains', { ...wanted, delivery, sampling })
    assert.deepEqual(comparable(made), {
      ...{ name: 'logs', ownerId: accountId, projectIds: undefined, rate: 0.5 },
      ...{ endpoint: delivery.endpoint, encoding: 'json', headers: {}, sources, environments },
    })
    assert.deepEqual(comparable(await ask('GET', `/v1/drains/${made.id}`)), comparable(made))
    await ask('DELETE', `/v1/drains/${made.id}`)
    await isGone(ask('GET', `/v1/drains/${made.id}`))
  })
  await row('data vercel_endpoint_verification', async () => {
    assert.match((await ask('GET', '/v1/verify-endpoint')).verificationCode, /^[0-9a-f]{40}$/)
  })
}

async function tryDomain({ ask, row, label }: Scope): Promise<void> {
  const { id } = await ask('POST', '/v8/projects', { ...UNSAID, name: `domains-${label}` })
  const to = `www-${label}.apps.example.net`
  const from = `old-${label}.apps.example.net`
  const own = `www.${label}.com`
  const path = (domain: string) => `/v9/projects/${id}/domains/${domain}`
  const config = (domain: string) => ask('GET', `/v6/domains/${domain}/config?projectIdOrName=${id}`)
  await row('vercel_project_domain create', async () => {
    assert.equal((await ask('GET', `/v10/projects/${id}`)).id, id)
    const made = await ask('POST', `/v10/projects/${id}/domains`, { name: to })
    assert.deepEqual([made.name, made.projectId, made.verified], [to, id, true])
    const redirect = { name: from, redirect: to, redirectStatusCode: 308 }
    assert.equal((await ask('POST', `/v10/projects/${id}/domains`, redirect)).redirect, to)
    const { verified, verification } = await ask('POST', `/v10/projects/${id}/domains`, { name: own })
    assert.equal(verified, false)
    assert.deepEqual(Object.keys(verification[0]).toSorted(), ['domain', 'reason', 'type', 'value'])
    for (const domain of [to, from, own]) {
      const { misconfigured, recommendedCNAME, recommendedIPv4, conflicts } = await config(domain)
      assert.equal(typeof misconfigured, 'boolean')
      assert.ok(Array.isArray(recommendedCNAME) && Array.isArray(recommendedIPv4))
      assert.deepEqual(conflicts, [], 'a list that programs walk through without asking whether it is there')
    }
  })
  await row('vercel_project_domain read', async () => {
    const read = await ask('GET', path(from))
    assert.deepEqual([read.redirect, read.redirectStatusCode, read.gitBranch], [to, 308, null])
    await isGone(ask('GET', path('none.example.com')))
  })
  await row('vercel_project_domain update', async () => {
    const unset = { gitBranch: 'dev', redirect: null, redirectStatusCode: null }
    const changed = await ask('PATCH', path(from), unset)
    assert.deepEqual([changed.gitBranch, changed.redirect, changed.redirectStatusCode], ['dev', null, null])
    await ask('PATCH', path(from), { gitBranch: null, redirect: to, redirectStatusCode: 307 })
    const read = await ask('GET', `/v8/projects/${id}/domains/${from}`)
    assert.deepEqual([read.gitBranch, read.redirect, read.redirectStatusCode], [null, to, 307])
  })
  await row('vercel_project_domain delete', async () => {
    for (const domain of [from, own, to]) {
      await ask('DELETE', path(domain))
      await isGone(ask('GET', path(domain)))
    }
  })
  await ask('DELETE', `/v8/projects/${id}`)
}

async function tryVariables({ ask, row, label }: Scope): Promise<void> {
  const { id } = await ask('POST', '/v8/projects', { ...UNSAID, name: `variables-${label}` })
  const path = `/v10/projects/${id}/env`
  const variable = { key: 'TOKEN', value: 'v', target: ['production', 'preview'], type: 'encrypted', comment: '' }
  let one: Decoded
  await row('vercel_project_environment_variable create', async () => {
    one = (await ask('POST', path, variable)).created
    assert.deepEqual([one.key, one.target, one.type, typeof one.id], ['TOKEN', variable.target, 'encrypted', 'string'])
    const branch = { ...variable, key: 'BRANCH', target: ['preview'], gitBranch: 'dev', comment: 'said', type: 'plain' }
    assert.deepEqual((await ask('POST', path, branch)).created.gitBranch, 'dev')
    await assert.rejects(ask('POST', path, variable), ({ status, code, message }: ApiError) => {
      assert.deepEqual([status, code, message !== ''], [403, 'ENV_ALREADY_EXISTS', true])
      return true
    })
  })
  await row('vercel_project_environment_variable read', async () => {
    const read = await ask('GET', `${path}/${one.id}`)
    assert.deepEqual([read.value, read.decrypted, read.target], ['v', true, variable.target])
    assert.equal(read.comment ?? '', '')
    await isGone(ask('GET', `${path}/none`))
  })
  await row('vercel_project_environment_variable update', async () => {
    const { key, ...patch } = { ...variable, value: 'w', target: ['preview'], comment: 'said' }
    await ask('PATCH', `${path}/${one.id}`, patch)
    const read = await ask('GET', `${path}/${one.id}`)
    assert.deepEqual([read.key, read.value, read.target, read.comment], [key, 'w', ['preview'], 'said'])
    const other = (await ask('POST', path, { ...variable, target: ['production'] })).created
    await assert.rejects(
      ask('PATCH', `${path}/${other.id}`, { ...patch, target: ['production', 'preview'] }),
      ({ status, code }: ApiError) => {
        assert.deepEqual([status, code], [400, 'ENV_CONFLICT'])
        return true
      },
    )
  })
  await row('vercel_project_environment_variable, sensitive', async () => {
    const sensitive = { ...variable, key: 'SECRET', value: 'canary', type: 'sensitive' }
    const { created } = await ask('POST', path, sensitive)
    const read = await ask('GET', `${path}/${created.id}`)
    // It keeps the value of its own state, and compares the rest.
    assert.deepEqual([read.type, read.decrypted, read.value ?? ''], ['sensitive', false, ''])
  })
  await row('vercel_project_environment_variable delete', async () => {
    await ask('DELETE', `/v8/projects/${id}/env/${one.id}`)
    await isGone(ask('GET', `${path}/${one.id}`))
    await isGone(ask('DELETE', `/v8/projects/${id}/env/${one.id}`))
  })
  await row('vercel_project_environment_variables create', async () => {
    for (const { id: old } of await listVariables(ask, id)) await ask('DELETE', `/v8/projects/${id}/env/${old}`)
    const many = Array.from({ length: 45 }, (_, at) => ({ ...variable, key: `K_${at}`, value: `v${at}` }))
    const { created, failed } = await ask('POST', path, many)
    assert.deepEqual([created.length, failed], [45, []])
    const partly = await ask('POST', path, [many[0], { ...variable, key: 'NEW' }])
    assert.deepEqual([partly.created.length, partly.failed.length], [1, 1])
    const [{ error }] = partly.failed
    // Go reads `target` as a list and `code`, `message`, `envVarKey` as strings: anything else and the answer is not read at all.
    assert.ok(Array.isArray(error.target) && error.code !== '' && error.message !== '')
    assert.equal(error.envVarKey, 'K_0')
  })
  await row('vercel_project_environment_variables read', async () => {
    for (const limit of [100, 7]) {
      const shown = (await listVariables(ask, id, limit)).map(({ key, value }) => [key, value])
      assert.equal(shown.length, 46)
      assert.deepEqual(Object.fromEntries(shown).K_44, 'v44')
    }
    const whole = await ask('GET', `/v8/projects/${id}/env?decrypt=true`)
    assert.equal(whole.envs.length, 46)
  })
  await row('vercel_project_environment_variables delete', async () => {
    for (const { id: each } of await listVariables(ask, id)) await ask('DELETE', `/v8/projects/${id}/env/${each}`)
    assert.deepEqual(await listVariables(ask, id), [])
  })
  await ask('DELETE', `/v8/projects/${id}`)
}

async function tryWebhook({ ask, row, accountId, label }: Scope): Promise<void> {
  const project = await ask('POST', '/v8/projects', { ...UNSAID, name: `hooks-${label}` })
  const events = [
    'project.created',
    'project.domain-created',
    'project.renamed',
    'domain.certificate-add',
    'flag.created',
  ]
  const body = { url: 'https://hooks.example.com', events, projectIds: [project.id] }
  let id = ''
  await row('vercel_webhook create', async () => {
    const made = await ask('POST', '/v1/webhooks', body)
    id = made.id
    assert.deepEqual(
      [made.url, made.events, made.ownerId, made.projectIds],
      [body.url, events, accountId, [project.id]],
    )
    assert.ok(made.secret.length > 0)
  })
  await row('vercel_webhook read', async () => {
    const read = await ask('GET', `/v1/webhooks/${id}`)
    assert.deepEqual([read.url, read.events, read.projectIds, read.secret], [body.url, events, [project.id], undefined])
    await isGone(ask('GET', '/v1/webhooks/none'))
  })
  await row('vercel_webhook delete', async () => {
    await ask('DELETE', `/v1/webhooks/${id}`)
    await isGone(ask('GET', `/v1/webhooks/${id}`))
  })
  await ask('DELETE', `/v8/projects/${project.id}`)
}

async function tryAccess({ ask, row, world, label, teamId }: Scope): Promise<void> {
  const { id } = await ask('POST', '/v8/projects', { ...UNSAID, name: `access-${label}` })
  const first = await ask('POST', '/v8/projects', { ...UNSAID, name: `first-${label}` })
  const where = { teamId, projects: [first.id] }
  const { installationId } = await seedInstallation(world, { slug: `tf-${label}` }, where)
  const path = `/v1/integrations/configuration/${installationId}/project/${id}`
  await row('vercel_integration_project_access create, read, delete', async () => {
    assert.equal((await ask('GET', path)).allowed, false)
    for (const allowed of [true, false]) {
      await ask('POST', path, { allowed })
      assert.equal((await ask('GET', path)).allowed, allowed)
    }
  })
  for (const each of [id, first.id]) await ask('DELETE', `/v8/projects/${each}`)
}

async function trySharedVariable({ ask, row, label }: Scope): Promise<void> {
  const ids: string[] = []
  for (const name of ['a', 'b'])
    ids.push((await ask('POST', '/v8/projects', { ...UNSAID, name: `${name}-${label}` })).id)
  const wanted = { type: 'encrypted', projectId: ids, target: ['production', 'preview'] }
  const body = { ...wanted, evs: [{ key: `SHARED_${label}`, value: 'v', comment: '' }] }
  let id = ''
  await row('vercel_shared_environment_variable create', async () => {
    const { created } = await ask('POST', '/v1/env', body)
    assert.equal(created.length, 1)
    id = created[0].id
    assert.deepEqual([created[0].target, created[0].projectId], [wanted.target, ids.toSorted()])
    // Then it looks for the one that is there, and prints its id for an import.
    const taken = (error: ApiError) => error.status === 409 && error.code === 'existing_key_and_target'
    await assert.rejects(ask('POST', '/v1/env', body), taken)
    const { data } = await ask('GET', '/v1/env/all')
    assert.equal(data.find(({ key }: Decoded) => key === `SHARED_${label}`).id, id)
  })
  await row('vercel_shared_environment_variable read', async () => {
    const read = await ask('GET', `/v1/env/${id}`)
    assert.deepEqual([read.value, read.type, read.key], ['v', 'encrypted', `SHARED_${label}`])
    await isGone(ask('GET', '/v1/env/env_none'))
  })
  await row('vercel_shared_environment_variable update', async () => {
    const change = { value: 'w', type: 'encrypted', target: ['preview'], projectIdUpdates: { unlink: [ids[0]] } }
    const { updated } = await ask('PATCH', '/v1/env', { updates: { [id]: change } })
    assert.deepEqual([updated.length, updated[0].projectId, updated[0].target], [1, [ids[1]], ['preview']])
    const again = { updates: { [id]: { projectIdUpdates: { link: [ids[0]] } } } }
    assert.deepEqual((await ask('PATCH', '/v1/env', again)).updated[0].projectId, ids.toSorted())
  })
  await row('vercel_shared_environment_variable_project_link create, delete', async () => {
    const linked = { projectIdUpdates: { unlink: [ids[0]] } }
    assert.deepEqual((await ask('PATCH', '/v1/env', { updates: { [id]: linked } })).updated[0].projectId, [ids[1]])
  })
  await row('vercel_shared_environment_variable delete', async () => {
    await ask('DELETE', '/v1/env', { ids: [id] })
    await isGone(ask('GET', `/v1/env/${id}`))
    await isGone(ask('DELETE', '/v1/env', { ids: [id] }))
  })
  for (const each of ids) await ask('DELETE', `/v8/projects/${each}`)
}

async function tryEnvironment({ ask, row, label }: Scope): Promise<void> {
  if (!served('createCustomEnvironment')) return
  const project = await ask('POST', '/v8/projects', { ...UNSAID, name: `environments-${label}` })
  const path = `/v1/projects/${project.id}/custom-environments`
  const variable = { key: 'CUSTOM', value: 'c', target: [], type: 'encrypted', comment: '' }
  let id = ''
  await row('vercel_custom_environment create', async () => {
    const branchMatcher = { type: 'startsWith', pattern: 'stage-' }
    const made = await ask('POST', path, { slug: 'staging', description: '', branchMatcher })
    id = made.id
    assert.deepEqual([made.slug, made.description ?? '', made.branchMatcher], ['staging', '', branchMatcher])
  })
  await row('vercel_custom_environment read', async () => {
    assert.equal((await ask('GET', `${path}/staging`)).id, id)
    await isGone(ask('GET', `${path}/none`))
  })
  await row('vercel_custom_environment update', async () => {
    const changed = await ask('PATCH', `${path}/staging`, { slug: 'stage', description: 'd', branchMatcher: null })
    assert.deepEqual([changed.slug, changed.description, changed.branchMatcher ?? null], ['stage', 'd', null])
  })
  await row('vercel_project_environment_variable, of a custom environment', async () => {
    const { created } = await ask('POST', `/v10/projects/${project.id}/env`, {
      ...variable,
      customEnvironmentIds: [id],
    })
    const read = await ask('GET', `/v10/projects/${project.id}/env/${created.id}`)
    assert.deepEqual([read.target, read.customEnvironmentIds, read.value], [[], [id], 'c'])
  })
  await row('vercel_project_domain, of a custom environment', async () => {
    const name = `stage-${label}.apps.example.net`
    const unsaid = { gitBranch: null, redirect: null, redirectStatusCode: null }
    const made = await ask('POST', `/v8/projects/${project.id}/domains`, {
      name,
      ...unsaid,
      customEnvironmentId: id,
    })
    assert.deepEqual([made.customEnvironmentId, made.gitBranch ?? null], [id, null])
    const path = `/v8/projects/${project.id}/domains/${name}`
    assert.equal((await ask('GET', path)).customEnvironmentId, id)
    assert.equal((await ask('PATCH', path, { ...unsaid, customEnvironmentId: null })).customEnvironmentId ?? null, null)
  })
  await row('vercel_custom_environment delete', async () => {
    await ask('DELETE', `${path}/stage`, { deleteUnassignedEnvironmentVariables: true })
    await isGone(ask('GET', `${path}/stage`))
    assert.deepEqual(await listVariables(ask, project.id), [])
  })
  await ask('DELETE', `/v8/projects/${project.id}`)
}

async function tryPeople(scope: Scope): Promise<void> {
  const { ask, row, world, teamId, label } = scope
  await row('provider configure: user and team', async () => {
    const { user } = await ask('GET', '/v2/user')
    assert.deepEqual([user.id, user.username], [world.credentials.userId, 'admin'])
    if (teamId === undefined) return
    for (const said of [teamId, 'team']) {
      const team = await ask('GET', `/v2/teams/${said}`)
      assert.deepEqual([team.id, team.slug], [teamId, 'team'])
    }
  })
  if (served('createAuthToken'))
    await row('vercel_access_token create, read, delete', async () => {
      const { token, bearerToken } = await ask('POST', '/v3/user/tokens', { name: `of-${label}` })
      assert.match(bearerToken, /[0-9a-zA-Z]{24}/)
      assert.equal((await ask('GET', `/v5/user/tokens/${token.id}`)).token.name, `of-${label}`)
      await ask('DELETE', `/v3/user/tokens/${token.id}`)
      await isGone(ask('GET', `/v5/user/tokens/${token.id}`))
    })
  if (teamId !== undefined && served('inviteUserToTeam')) await tryMember(scope, teamId)
  if (teamId !== undefined && served('patchTeam'))
    await row('vercel_team_config update', async () => {
      const changed = await ask('PATCH', `/v2/teams/${teamId}`, {
        description: 'ours',
        remoteCaching: { enabled: true },
      })
      assert.equal(changed.id, teamId)
      assert.equal((await ask('GET', `/v2/teams/${teamId}`)).description, 'ours')
    })
}

async function tryMember({ ask, row, world }: Scope, teamId: string): Promise<void> {
  const { id } = await world.user('hired')
  const list = () => ask('GET', `/v2/teams/${teamId}/members?limit=1&filterByUserIds=${id}`)
  await row('vercel_team_member create', async () => {
    await ask('POST', `/v1/teams/${teamId}/members`, { uid: id, role: 'MEMBER' })
  })
  await row('vercel_team_member read', async () => {
    const { members } = await list()
    assert.deepEqual([members.length, members[0].uid, members[0].role, members[0].confirmed], [1, id, 'MEMBER', false])
  })
  await row('vercel_team_member update', async () => {
    await ask('PATCH', `/v1/teams/${teamId}/members/${id}`, { role: 'DEVELOPER' })
    assert.equal((await list()).members[0].role, 'DEVELOPER')
    const { projects } = await ask('GET', `/v1/teams/${teamId}/members/${id}/projects?limit=100`)
    assert.deepEqual(projects, [])
  })
  await row('vercel_team_member delete', async () => {
    await ask('DELETE', `/v2/teams/${teamId}/members/${id}`)
    assert.deepEqual((await list()).members, [])
  })
}

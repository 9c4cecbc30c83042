/** Every setting of operations 1 and 4: stored, answered, cleared, defaulted. Specification: Project; docs/spec/decisions.md: Projects. */
import assert from 'node:assert/strict'
import { setSettings } from '../../support/states.ts'
import { type ApiResponse, onBothEngines } from '../../support/world.ts'

const FRAMEWORKS =
  'blitzjs, nextjs, gatsby, remix, astro, hexo, eleventy, docusaurus-2, docusaurus, preact, solidstart, dojo, ember, vue, scully, ionic-angular, angular, polymer, svelte, sveltekit, sveltekit-1, ionic-react, create-react-app, gridsome, umijs, sapper, saber, stencil, nuxtjs, redwoodjs, hugo, jekyll, brunch, middleman, zola, hydrogen, vite, vitepress, vuepress, parcel, sanity, storybook'.split(
    ', ',
  )
const NODE_VERSIONS = ['20.x', '18.x', '16.x', '14.x', '12.x', '10.x', '8.10.x']
const TEXTS = 'buildCommand commandForIgnoringBuildStep devCommand installCommand outputDirectory rootDirectory'.split(
  ' ',
)
const ON_CREATE = ['publicSource', 'skipGitConnectDuringLink']
const ON_UPDATE =
  'autoAssignCustomDomains autoExposeSystemEnvs customerSupportCodeVisibility directoryListing enablePreviewFeedback gitForkProtection gitLFS sourceFilesOutsideRootDirectory'.split(
    ' ',
  )

/** Fields that real clients send in addition to the specification. docs/spec/client-requests.md C.2, docs/spec/wire.md 2.3 and 2.5. */
const EXTRA = {
  enableAffectedProjectsDeployments: true,
  enableProductionFeedback: false,
  gitComments: { onPullRequest: true, onCommit: false },
  gitProviderOptions: { createDeployments: 'disabled' },
  oidcTokenConfig: { enabled: true, issuerMode: 'team' },
  optionsAllowlist: { paths: [{ value: '/a' }, { value: '/b' }] },
  previewDeploymentSuffix: 'preview.example.com',
  previewDeploymentsDisabled: true,
  productionDeploymentsFastLane: true,
  protectedSourcemaps: true,
  resourceConfig: { fluid: true, functionDefaultRegions: ['fra1', 'iad1'], functionDefaultTimeout: 60 },
  ssoProtection: { deploymentType: 'preview' },
  trustedSources: { prj_other: { environments: ['production'] }, nested: { deep: [1, { two: null }] } },
}

onBothEngines('the region of functions has two names and one truth: each write shows in both', async (world) => {
  const { body } = await world.call('POST', '/v10/projects', { name: 'web', serverlessFunctionRegion: 'fra1' })
  const shown = ({ serverlessFunctionRegion, resourceConfig }: typeof body) => [
    serverlessFunctionRegion,
    resourceConfig.functionDefaultRegions,
  ]
  assert.deepEqual(shown(body), ['fra1', ['fra1']])
  const steps: [said: object, region: string | null, regions: string[]][] = [
    [{ resourceConfig: { functionDefaultRegions: ['lhr1', 'fra1'] } }, 'lhr1', ['lhr1', 'fra1']],
    // What is said of something else leaves both.
    [{ resourceConfig: { fluid: true } }, 'lhr1', ['lhr1', 'fra1']],
    [{ framework: 'vite' }, 'lhr1', ['lhr1', 'fra1']],
    [{ serverlessFunctionRegion: 'cdg1' }, 'cdg1', ['cdg1']],
    [{ serverlessFunctionRegion: 'cdg1', resourceConfig: { functionDefaultRegions: ['sfo1'] } }, 'sfo1', ['sfo1']],
    [{ serverlessFunctionRegion: null }, null, ['iad1']],
    [{ resourceConfig: { functionDefaultRegions: ['fra1'] } }, 'fra1', ['fra1']],
    [{ resourceConfig: { functionDefaultRegions: [] } }, null, []],
  ]
  for (const [said, region, regions] of steps) {
    for (const { body } of [
      await world.call.try('PATCH', '/v9/projects/web', said),
      await world.call.try('GET', '/v9/projects/web'),
    ])
      assert.deepEqual(shown(body), [region, regions], JSON.stringify(said))
  }
  // As an earlier version kept it.
  await setSettings(world, 'web', { serverlessFunctionRegion: 'fra1', resourceConfig: { fluid: true } })
  assert.deepEqual(shown((await world.call('GET', '/v9/projects/web')).body), ['fra1', ['fra1']])
})

onBothEngines(
  'every body field of create and update is stored and returned, at create, update and read',
  async ({ call }) => {
    const lines = Object.fromEntries(TEXTS.map((name) => [name, `${name} ${'é漢🙂'} "x" \\ \n`]))
    const made: Record<string, unknown> = { ...lines, serverlessFunctionRegion: 'fra1', framework: 'vite' }
    for (const name of ON_CREATE) made[name] = true
    const created = await call.try('POST', '/v10/projects', { name: 'web', ...made })
    holds(created, made)
    const changed: Record<string, unknown> = {
      ...Object.fromEntries(TEXTS.map((name) => [name, 'y'.repeat(256)])),
      autoAssignCustomDomainsUpdatedBy: 'someone',
      nodeVersion: '18.x',
      skewProtectionBoundaryAt: 1_700_000_000_000,
      skewProtectionMaxAge: 3600,
    }
    for (const value of [true, false]) {
      for (const name of [...ON_CREATE, ...ON_UPDATE]) changed[name] = value
      holds(await call.try('PATCH', '/v9/projects/web', changed), changed)
      holds(await call.try('GET', '/v9/projects/web'), {
        ...changed,
        serverlessFunctionRegion: 'fra1',
        framework: 'vite',
      })
    }
    const listed = (await call('GET', '/v9/projects')).body.projects[0]
    assert.deepEqual(listed, (await call('GET', '/v9/projects/web')).body)
  },
)

onBothEngines(
  "every value of the specification's enumerations is accepted, and any other value is refused by name",
  async ({ call }) => {
    await call('POST', '/v10/projects', { name: 'web' })
    for (const [name, values] of [
      ['framework', FRAMEWORKS],
      ['nodeVersion', NODE_VERSIONS],
    ] as const) {
      for (const value of values)
        holds(await call.try('PATCH', '/v9/projects/web', { [name]: value }), { [name]: value })
      for (const wrong of ['', 'NEXTJS', 'next', 20, true, [values[0]], { value: values[0] }]) {
        const answer = await call.try('PATCH', '/v9/projects/web', { [name]: wrong })
        assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'])
        assert.match(answer.body.error.message, new RegExp(`\`${name}\``))
      }
    }
    holds(await call.try('POST', '/v10/projects', { name: 'two', framework: null }), { framework: null })
  },
)

onBothEngines('fields that real clients send are returned unchanged, unknown ones dropped', async ({ call }) => {
  holds(await call.try('POST', '/v10/projects', { name: 'web', ...EXTRA, v0: true, unknown: { a: 1 } }), EXTRA)
  const body: Record<string, unknown> = (await call('GET', '/v9/projects/web')).body
  for (const [name, value] of Object.entries(EXTRA)) assert.deepEqual(body[name], value, name)
  assert.equal('unknown' in body || 'v0' in body, false)
  holds(await call.try('POST', '/v10/projects', { name: 'two' }), {})
  holds(
    await call.try('PATCH', '/v9/projects/two', { ...EXTRA, sandbox: {}, id: 'prj_x', accountId: 'y', createdAt: 1 }),
    EXTRA,
  )
  const two = (await call('GET', '/v9/projects/two')).body
  assert.ok(two.id !== 'prj_x' && two.accountId !== 'y' && two.createdAt !== 1)
})

onBothEngines('null clears an optional field, and a missing field stays', async ({ call }) => {
  const texts = [...TEXTS, 'serverlessFunctionRegion', 'autoAssignCustomDomainsUpdatedBy', 'previewDeploymentSuffix']
  const set = {
    ...Object.fromEntries(texts.map((name) => [name, 'abc'])),
    ...EXTRA,
    publicSource: true,
    framework: 'vite',
  }
  await call('POST', '/v10/projects', { name: 'web', ...set })
  for (const name of Object.keys(set)) {
    if (name === 'productionDeploymentsFastLane' || name === 'protectedSourcemaps') continue
    const answer = await call('PATCH', '/v9/projects/web', { [name]: null })
    assert.equal(answer.status, 200, `${name}: ${answer.text}`)
    if (name === 'previewDeploymentsDisabled') assert.equal(answer.body.previewDeploymentsDisabled, false)
    else if (name === 'resourceConfig')
      assert.deepEqual(answer.body.resourceConfig, { functionDefaultRegions: ['iad1'] })
    else assert.equal((answer.body as Record<string, unknown>)[name] ?? null, null, name)
    assert.deepEqual((await call('GET', '/v9/projects/web')).body, answer.body)
  }
  await call('PATCH', '/v9/projects/web', { buildCommand: 'make' })
  holds(await call.try('PATCH', '/v9/projects/web', { devCommand: 'run' }), { buildCommand: 'make', devCommand: 'run' })
  holds(await call.try('PATCH', '/v9/projects/web', {}), { buildCommand: 'make', devCommand: 'run' })
})

onBothEngines('a bare project has the defaults that every client version decodes', async ({ call, credentials }) => {
  const { body } = await call('POST', '/v10/projects', { name: 'web' })
  const { createdAt, updatedAt, id, ...rest } = body
  assert.ok(Number.isInteger(createdAt) && Math.abs(Date.now() - createdAt) < 60_000)
  assert.ok(Number.isInteger(updatedAt) && updatedAt >= createdAt && id.startsWith('prj_'))
  const unset = [
    ...TEXTS,
    'serverlessFunctionRegion',
    'framework',
    'publicSource',
    'enablePreviewFeedback',
    'passwordProtection',
  ]
  unset.push(
    'enableProductionFeedback',
    'ssoProtection',
    'trustedIps',
    'optionsAllowlist',
    'lastAliasRequest',
    'lastRollbackTarget',
  )
  assert.deepEqual(rest, {
    accountId: credentials.userId,
    name: 'web',
    ...Object.fromEntries(unset.map((name) => [name, null])),
    ...{ autoAssignCustomDomains: true, gitForkProtection: true, nodeVersion: '22.x', skewProtectionMaxAge: 0 },
    ...{ customerSupportCodeVisibility: false, directoryListing: false, gitLFS: false, live: false },
    ...{ previewDeploymentsDisabled: false, productionDeploymentsFastLane: false, protectedSourcemaps: false },
    ...{ serverlessFunctionZeroConfigFailover: false, dataCache: { userDisabled: false } },
    ...{ alias: [], env: [], customEnvironments: [], latestDeployments: [], targets: {}, deploymentExpiration: {} },
    resourceConfig: { functionDefaultRegions: ['iad1'] },
    defaultResourceConfig: { functionDefaultRegions: ['iad1'] },
  })
})

onBothEngines(
  'a project of an earlier version without a stored nodeVersion shows 20.x, a new one 22.x',
  async (world) => {
    const { call } = world
    const show = async (name: string) => (await call('GET', `/v9/projects/${name}`)).body.nodeVersion
    for (const name of ['old', 'new']) await call('POST', '/v10/projects', { name })
    await setSettings(world, 'old', {})
    assert.deepEqual([await show('old'), await show('new')], ['20.x', '22.x'])
  },
)

onBothEngines('serverlessFunctionZeroConfigFailover takes anything and keeps its truth value', async ({ call }) => {
  let deep: unknown = 'end'
  for (let level = 0; level < 31; level++) deep = level % 2 ? [deep] : { deep }
  const values: [unknown, boolean][] = [
    [true, true],
    [false, false],
    [null, false],
    [0, false],
    [1, true],
    [-0.5, true],
    ['', false],
    ['false', true],
    [[], true],
    [{}, true],
    [deep, true],
  ]
  await call('POST', '/v10/projects', { name: 'web' })
  for (const [at, [value, kept]] of values.entries()) {
    const said = { serverlessFunctionZeroConfigFailover: value }
    for (const answer of [
      await call.try('PATCH', '/v9/projects/web', said),
      await call.try('POST', '/v10/projects', { name: `w${at}`, ...said }),
    ]) {
      holds(answer, { serverlessFunctionZeroConfigFailover: kept })
    }
  }
  const tooDeep = await call.try('PATCH', '/v9/projects/web', { serverlessFunctionZeroConfigFailover: { deep } })
  assert.equal(tooDeep.status, 400)
})

onBothEngines('the data cache is switched off and on by id and by name', async ({ call }) => {
  const { id } = (await call('POST', '/v10/projects', { name: 'web' })).body
  for (const said of ['web', id]) {
    for (const disabled of [true, true, false, false]) {
      const answer = await call.try('PATCH', `/v1/data-cache/projects/${said}`, { disabled })
      holds(answer, { dataCache: { userDisabled: disabled } })
      assert.deepEqual((await call('GET', '/v9/projects/web')).body, answer.body)
    }
  }
  await call('PATCH', '/v1/data-cache/projects/web', { disabled: true })
  holds(await call.try('PATCH', '/v1/data-cache/projects/web'), { dataCache: { userDisabled: true } })
  for (const disabled of ['true', 1, null, [], {}]) {
    assert.equal((await call.try('PATCH', '/v1/data-cache/projects/web', { disabled })).status, 400)
  }
})

function holds(answer: ApiResponse, wanted: Record<string, unknown>): void {
  assert.equal(answer.status, 200, answer.text)
  for (const [name, value] of Object.entries(wanted))
    assert.deepEqual((answer.body as Record<string, unknown>)[name], value, name)
}

/** What the build system registers, which deployment takes which domains, and what a project shows of it. docs/deployments.md. */
import assert from 'node:assert/strict'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { deploymentEvents, readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

const ONE = 'one.apps.example.net'
const TWO = 'two.apps.example.net'

onBothEngines(
  'a READY production deployment is assigned the production domains, and the project shows it',
  async (world) => {
    const web = await seedWebProject(world)
    const before = await web.read()
    assert.deepEqual([before.latestDeployments, before.targets, before.live], [[], {}, false])
    const id = await web.deploy({ readyState: 'BUILDING', meta: { githubCommitSha: 'abc' } })
    assert.deepEqual(await readDomainAssignments(world), {})
    assert.equal(
      (await web.patch(id, { readyState: 'READY', upstream: 'http://10.0.0.7:3000' })).body.readySubstate,
      'PROMOTED',
    )
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: id, [TWO]: id })
    const project = await web.read()
    assert.equal(project.live, true)
    assert.equal(project.targets.production.id, id)
    assert.deepEqual(project.targets.production.alias, [ONE, TWO])
    assert.deepEqual(project.targets.production.meta, { githubCommitSha: 'abc' })
    assert.ok(project.updatedAt >= before.updatedAt)
    assert.deepEqual((await world.call('GET', '/v9/projects')).body.projects[0], project)
    const types = (await deploymentEvents(world)).map(({ type }) => type)
    assert.deepEqual(types, ['deployment.created', 'deployment.ready', 'deployment.succeeded'])
    const payload = (await deploymentEvents(world))[0]!.payload
    assert.deepEqual(payload.deployment, { id, meta: { githubCommitSha: 'abc' }, url: 'd1.host.test', name: 'web' })
    assert.deepEqual([payload.team, payload.user, payload.target], [{ id: null }, { id: null }, 'production'])
  },
  SETTINGS,
)

onBothEngines(
  'the creator in the answer of a project is the account as it is now',
  async (world) => {
    const web = await seedWebProject(world)
    await web.deploy()
    const { userId } = world.credentials
    const creators = async () => {
      const listed = (await world.call('GET', '/v9/projects')).body.projects[0]!
      return [await web.read(), listed].flatMap(({ latestDeployments, targets }) => [
        latestDeployments[0]!.creator,
        targets.production!.creator,
      ])
    }
    for (const change of [
      { username: 'first', email: 'first@example.org' },
      { username: 'second', email: 'second@example.org' },
    ]) {
      await world.operator('PATCH', `/operator/v1/users/${userId}`, change)
      assert.deepEqual(await creators(), Array(4).fill({ uid: userId, ...change }))
    }
  },
  SETTINGS,
)

onBothEngines(
  'it stays STAGED while autoAssignCustomDomains is off, while the project is paused, and behind a newer one',
  async (world) => {
    const web = await seedWebProject(world)
    const old = await web.deploy({ readyState: 'BUILDING' })
    const first = await web.deploy()
    assert.equal((await web.patch(old, { readyState: 'READY' })).body.readySubstate, 'STAGED')
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    const second = await web.deploy()
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    // A user can switch it on while the project is paused; the project stays paused.
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    const third = await web.deploy()
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: first, [TWO]: first })
    for (const id of [second, third]) {
      assert.equal((await world.call('GET', `/v13/deployments/${id}`)).body.readySubstate, 'STAGED')
    }
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    const fourth = await web.deploy()
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: fourth, [TWO]: fourth })
  },
  SETTINGS,
)

onBothEngines(
  'a domain points to the live deployment once it is added, verified, changed or moved, and to none once it is removed',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const live = await web.deploy()
    const preview = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    await world.call('POST', '/v10/projects/web/domains', { name: TWO })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: live, [TWO]: live })
    assert.deepEqual((await web.read()).targets.production.alias, [ONE, TWO])
    const change = (body: object) => world.call('PATCH', `/v9/projects/web/domains/${TWO}`, body)
    await change({ gitBranch: 'dev' })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: live, [TWO]: preview })
    const newer = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    await web.deploy({ target: 'preview', gitBranch: 'other' })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: live, [TWO]: newer })
    await change({ gitBranch: null, redirect: ONE })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: live })
    const otherId = await seedProject(world, 'other')
    const elsewhere = await seedDeployment(world, otherId, { url: 'other.host.test' })
    await world.call('POST', `/v1/projects/web/domains/${ONE}/move`, { projectId: 'other' })
    // The redirect to it ended, so that the other domain serves again.
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: elsewhere, [TWO]: live })
    await world.call('DELETE', `/v9/projects/web/domains/${TWO}`)
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: elsewhere })
    const unverified = await world.call('POST', '/v10/projects/web/domains', { name: 'not-proven.com' })
    assert.equal(unverified.body.verified, false)
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: elsewhere })
  },
  SETTINGS,
)

onBothEngines(
  'the domain of a branch points to its newest preview deployment, never to a production deployment of that branch',
  async (world) => {
    const web = await seedWebProject(world)
    const name = 'dev.apps.example.net'
    const preview = await web.deploy({ target: 'preview', gitBranch: 'dev' })
    const production = await web.deploy({ gitBranch: 'dev' })
    assert.equal((await world.call('POST', '/v10/projects/web/domains', { name, gitBranch: 'dev' })).status, 200)
    const wanted = { [ONE]: production, [TWO]: production, [name]: preview }
    assert.deepEqual(await readDomainAssignments(world), wanted, 'as it is added')
    const later = await web.deploy({ gitBranch: 'dev' })
    assert.deepEqual(
      await readDomainAssignments(world),
      { ...wanted, [ONE]: later, [TWO]: later },
      'as one is deployed',
    )
  },
  SETTINGS,
)

onBothEngines(
  'a failed production deployment refuses new domains until one succeeds, and READY, ERROR and CANCELED are final',
  async (world) => {
    const web = await seedWebProject(world, [])
    const add = (name = ONE) => world.call.try('POST', '/v10/projects/web/domains', { name })
    await web.deploy({ readyState: 'ERROR', target: 'preview' })
    assert.equal((await add(TWO)).status, 200, 'a project without a production deployment')
    for (const readyState of ['ERROR', 'CANCELED']) {
      const id = await web.deploy({ readyState })
      assertRefused(await add(), 400, 'production_deployment_failed')
      assertRefused(await web.patch(id, { readyState: 'READY' }), 409, 'conflict')
      assert.equal((await web.patch(id, { readyState })).status, 200)
    }
    await web.deploy({ readyState: 'ERROR', target: 'preview' })
    await web.deploy({ readyState: 'BUILDING' })
    const otherId = await seedProject(world, 'other')
    await seedDeployment(world, otherId, { url: 'other.host.test', readyState: 'ERROR' })
    assert.equal((await add()).status, 200)
    const types = (await deploymentEvents(world))
      .map(({ type }) => type)
      .filter((type) => type !== 'deployment.created')
    assert.deepEqual(types, [
      'deployment.error',
      'deployment.error',
      'deployment.canceled',
      'deployment.error',
      'deployment.error',
    ])
  },
  SETTINGS,
)

onBothEngines(
  'every field of a deployment is checked, and its url is unique, also among domains and under 20 concurrent creates',
  async (world) => {
    const web = await seedWebProject(world)
    const post = (body: object) => world.operator.try('POST', `/operator/v1/projects/${web.id}/deployments`, body)
    const good = { url: 'web.host.test', readyState: 'QUEUED' }
    const bad: [string, object][] = [
      ['url', { ...good, url: 'https://web.host.test' }],
      ['url', { ...good, url: 'web' }],
      ['url', { ...good, url: 'web.host.test:80' }],
      ['url', { ...good, url: '-a.host.test' }],
      ['url', { readyState: 'QUEUED' }],
      ['readyState', { ...good, readyState: 'DONE' }],
      ['readyState', { url: good.url }],
      ['target', { ...good, target: 'staging' }],
      ['gitBranch', { ...good, gitBranch: '' }],
      ['meta', { ...good, meta: { a: 1 } }],
      [
        'meta',
        {
          ...good,
          meta: {
            a: 'x'.repeat(1000),
            b: 'x'.repeat(1000),
            c: 'x'.repeat(1000),
            d: 'x'.repeat(1000),
            e: 'x'.repeat(1000),
          },
        },
      ],
      ['upstream', { ...good, upstream: 'ftp://10.0.0.1' }],
      ['upstream', { ...good, upstream: 'http://10.0.0.1/path' }],
      ['upstream', { ...good, upstream: 'http://user:pass@10.0.0.1' }],
      ['upstream', { ...good, upstream: '10.0.0.1:3000' }],
    ]
    for (const [field, body] of bad) {
      const answer = await post(body)
      assertRefused(answer, 400, 'bad_request')
      assert.ok(answer.body.error.message.includes(`\`${field}`), `${field}: ${answer.text}`)
    }
    assertRefused(await post({ ...good, url: ONE }), 409, 'conflict')
    const answers = await Promise.all(Array.from({ length: 20 }, () => post({ ...good, url: 'WEB.host.test' })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)])
    // Another account cannot add the address of a deployment as a domain, although names there require no verification.
    await post({ ...good, url: 'free.apps.example.net' })
    const { call } = await world.user('eve')
    await call('POST', '/v10/projects', { name: 'shop' })
    assertRefused(
      await call.try('POST', '/v10/projects/shop/domains', { name: 'free.apps.example.net' }),
      409,
      'domain_not_allowed',
    )
    assertRefused(
      await world.operator.try('POST', '/operator/v1/projects/prj_none/deployments', good),
      404,
      'not_found',
    )
    assertRefused(await web.patch('dpl_none', {}), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'deployments are listed newest first, filtered and paged to the end, and hidden from other accounts',
  async (world) => {
    const web = await seedWebProject(world, [])
    const ids: string[] = []
    for (let at = 0; at < 45; at++) {
      const preview = at % 3 === 0 ? { target: 'preview', gitBranch: 'dev', readyState: 'ERROR' } : {}
      ids.push(await web.deploy(preview))
    }
    const otherId = await seedProject(world, 'other')
    const other = await seedDeployment(world, otherId, { url: 'other.host.test' })
    const list = async (query: string) => {
      const seen: string[] = []
      for (let until = ''; ; ) {
        const { body, text } = await world.call('GET', `/v6/deployments?${query}${until}`)
        assert.ok(body.deployments, text)
        seen.push(...body.deployments.map(({ uid }: { uid: string }) => uid))
        if (body.pagination.next === null) return seen
        until = `&until=${body.pagination.next}`
      }
    }
    const previews = ids.filter((_, at) => at % 3 === 0).reverse()
    const newest = ids.toReversed()
    assert.deepEqual(await list('limit=7'), [other, ...newest])
    assert.deepEqual(await list(`projectId=${web.id}`), newest)
    assert.deepEqual(await list('app=web&limit=100'), newest)
    assert.deepEqual(await list('projectId=other'), [other])
    assert.deepEqual(await list('app=web&target=preview'), previews)
    assert.deepEqual(await list('state=ERROR,building'), previews)
    assert.deepEqual(await list('branch=dev'), previews)
    const live = newest.find((id) => !previews.includes(id))!
    const candidates = newest.filter((id) => id !== live && !previews.includes(id))
    assert.deepEqual(await list('projectId=web&rollbackCandidate=true'), candidates)
    assert.deepEqual(await list(`since=${Date.now() + 60_000}`), [])
    assertRefused(await world.call.try('GET', '/v6/deployments?state=DONE'), 400, 'bad_request')

    const project = await web.read()
    assert.deepEqual(
      project.latestDeployments.map(({ id }: { id: string }) => id),
      newest.slice(0, 5),
    )
    assert.equal(project.targets.production.id, live)
    const byUrl = await world.call('GET', '/v13/deployments/OTHER.host.test')
    assert.deepEqual([byUrl.body.id, byUrl.body.projectId, byUrl.body.status], [other, otherId, 'READY'])
    const narrow = await world.token({ projectIds: [web.id] })
    assertRefused(await narrow.try('GET', `/v13/deployments/${other}`), 404, 'not_found')
    assert.equal((await narrow('GET', '/v6/deployments?limit=100')).body.deployments.length, 45)
    const { call } = await world.user('eve')
    assertRefused(await call.try('GET', `/v13/deployments/${other}`), 404, 'not_found')
    assertRefused(await call.try('GET', '/v13/deployments/other.host.test'), 404, 'not_found')
    assert.deepEqual((await call('GET', '/v6/deployments')).body.deployments, [])
    const scoped = await world.token({ scopes: ['read:deployment'] })
    assert.equal((await scoped('GET', '/v6/deployments')).status, 200)
    assertRefused(await scoped.try('POST', `/v10/projects/${web.id}/promote/${live}`), 403, 'forbidden')
  },
)

onBothEngines(
  'aliases are read by name and by id, taken off by hand, and go with their project',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const [{ uid }] = (await world.call('GET', `/v4/aliases?projectId=${web.id}&limit=1`)).body.aliases
    const byId = (await world.call('GET', `/v4/aliases/${uid}`)).body
    assert.deepEqual(byId, (await world.call('GET', `/v4/aliases/${TWO}`)).body)
    assert.deepEqual([byId.alias, byId.deployment], [TWO, { id, url: 'd1.host.test' }])
    assert.equal((await world.call('GET', '/v3/now/aliases?limit=20')).body.aliases.length, 2)
    assert.equal((await world.call('GET', `/v2/deployments/${id}/aliases`)).body.aliases.length, 2)
    const { call } = await world.user('eve')
    assertRefused(await call.try('GET', `/v4/aliases/${TWO}`), 404, 'not_found')
    assertRefused(await call.try('DELETE', `/v2/aliases/${TWO}`), 404, 'not_found')
    assert.deepEqual((await world.call('DELETE', `/v2/aliases/${uid}`)).body, { status: 'SUCCESS' })
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: id })
    assert.deepEqual((await web.read()).targets.production.alias, [ONE])
    assert.equal((await world.call('GET', `/v9/projects/web/domains/${TWO}`)).body.verified, true)
    await web.promote(id)
    await web.sweep()
    assert.deepEqual(await readDomainAssignments(world), { [ONE]: id, [TWO]: id })

    await world.call('DELETE', '/v9/projects/web')
    for (const table of ['deployment', 'alias', 'alias_request', 'alias_mapping'] as const) {
      assert.deepEqual(await world.deps.db.read.selectFrom(table).selectAll().execute(), [], table)
    }
  },
  SETTINGS,
)

onBothEngines(
  'a transfer to another account moves deployments and aliases too',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const { teamId } = world.credentials
    const { code } = (await world.call('POST', '/projects/web/transfer-request', {})).body
    assert.equal((await world.call('PUT', `/projects/transfer-request/${code}?teamId=${teamId}`, {})).status, 202)
    await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
    const moved = await world.call('GET', `/v9/projects/web?teamId=${teamId}`)
    assert.equal(moved.body.targets.production.teamId, teamId)
    assert.equal((await world.call('GET', `/v13/deployments/${id}?teamId=${teamId}`)).body.team.id, teamId)
    assert.equal((await world.call('GET', `/v4/aliases?teamId=${teamId}`)).body.aliases.length, 2)
    assertRefused(await world.call.try('GET', `/v13/deployments/${id}`), 404, 'not_found')
  },
  SETTINGS,
)

onBothEngines(
  'a build system says why a deployment failed, with its end or after it',
  async (world) => {
    const web = await seedWebProject(world)
    const messageOf = async (id: string) => (await world.call('GET', `/v13/deployments/${id}`)).body.errorMessage
    const id = await web.deploy({ readyState: 'BUILDING' })
    assertRefused(await web.patch(id, { errorMessage: 'No space left' }), 400, 'bad_request')
    assertRefused(await web.patch(id, { readyState: 'READY', errorMessage: 'No space left' }), 400, 'bad_request')
    assert.equal((await web.patch(id, { readyState: 'ERROR', errorMessage: 'No space left' })).status, 200)
    assert.equal(await messageOf(id), 'No space left')
    assert.equal((await web.patch(id, { readyState: 'ERROR' })).status, 200)
    assert.equal(await messageOf(id), 'No space left', 'it stays')
    assert.equal((await web.patch(id, { errorMessage: 'No space left on /srv' })).status, 200)
    assert.equal(await messageOf(id), 'No space left on /srv')
    const canceled = await web.deploy({ readyState: 'CANCELED', errorMessage: 'A newer push' })
    assert.equal(await messageOf(canceled), 'A newer push')
  },
  SETTINGS,
)

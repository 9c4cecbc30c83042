/** What clients say in ways of their own: for whom they act, how they page, how they name repositories and environments. docs/clients.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'

onBothEngines(
  "a user's own id as `teamId` acts for the personal account, and an empty one says nothing",
  async (world) => {
    const { userId, teamId } = world.credentials
    await seedProject(world, 'mine')
    const rival = await world.user('rival')
    const names = async (call: typeof world.call, query: string) => {
      const { status, body } = await call.try('GET', `/v9/projects?${query}`)
      return status === 200 ? body.projects.map(({ name }: { name: string }) => name) : status
    }
    assert.deepEqual(await names(world.call, `teamId=${userId}`), ['mine'])
    assert.deepEqual(await names(world.call, 'teamId='), ['mine'])
    assert.equal(
      (await world.call('POST', `/v10/projects?teamId=${userId}`, { name: 'second' })).body.accountId,
      userId,
    )
    assert.equal(await names(rival.call, `teamId=${userId}`), 403)
    assert.equal(await names(world.call, `teamId=${rival.id}`), 403)
    assert.equal(await names(world.call, `teamId=${userId}&slug=rival`), 403)
    const bound = await world.token({ teamId })
    assert.equal(await names(bound, `teamId=${userId}`), 403)
    assert.deepEqual(await names(bound, 'teamId='), [])
  },
)

onBothEngines(
  'the pager of Infisical, which says `since=<next>`, comes to the end and sees each project once',
  async (world) => {
    const made = []
    for (let at = 0; at < 7; at++) {
      await seedProject(world, `p${at}`)
      made.unshift(`p${at}`)
    }
    const seen: string[] = []
    let since: number | null = null
    let asked = 0
    do {
      const from: string = since === null ? '' : `&since=${since}`
      const { body } = await world.call('GET', `/v9/projects?limit=3${from}`)
      seen.push(...body.projects.map(({ name }: { name: string }) => name))
      since = body.pagination.next
      asked++
    } while (since !== null && asked < 10)
    assert.deepEqual([seen, asked], [made, 3])
    const { body } = await world.call('GET', `/v9/projects?since=${Date.now() + 60_000}`)
    assert.deepEqual(body.projects, [])
  },
)

onBothEngines('a repository is found whatever the case, and by the address that git clones', async (world) => {
  await seedProject(world, 'web')
  await seedProject(world, 'bare')
  const linked = await world.call('POST', '/v9/projects/web/link', { type: 'github', repo: 'Acme/Web' })
  assert.deepEqual([linked.body.link.org, linked.body.link.repo], ['Acme', 'Web'])
  const found = async (query: string) =>
    (await world.call('GET', `/v9/projects?${query}`)).body.projects.map(({ name }: { name: string }) => name)
  for (const query of ['repo=acme/web', 'repo=ACME/Web', 'repo=Acme/Web'])
    assert.deepEqual(await found(query), ['web'], query)
  for (const url of [
    'https://github.com/acme/web',
    'https://github.com/Acme/Web.git',
    'https://github.com/acme/web/',
  ]) {
    assert.deepEqual(await found(`repoUrl=${encodeURIComponent(url)}`), ['web'], url)
  }
  assert.deepEqual(await found('excludeRepos=ACME/WEB'), ['bare'])
  assert.deepEqual(await found('repo=acme/webs'), [])
})

onBothEngines("a variable's `customEnvironmentId` is kept with its targets, and answered", async (world) => {
  const { call } = world
  await seedProject(world, 'web')
  const { id } = (await call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })).body
  const { id: qa } = (await call('POST', '/v9/projects/web/custom-environments', { slug: 'qa' })).body
  const asked = { key: 'A', value: 'v', target: ['preview'], customEnvironmentId: 'staging' }
  const { created } = (await call('POST', '/v10/projects/web/env', asked)).body
  type Place = Pick<typeof created, 'target' | 'customEnvironmentId' | 'customEnvironmentIds'>
  const places = (at: Place) => [at.target, at.customEnvironmentId, at.customEnvironmentIds]
  assert.deepEqual(places(created), [['preview'], id, [id]])
  const edit = async (body: object) => places((await call('PATCH', `/v9/projects/web/env/${created.id}`, body)).body)
  assert.deepEqual(await edit({ customEnvironmentId: 'qa' }), [['preview'], qa, [qa]])
  assert.deepEqual(await edit({ customEnvironmentIds: [id], customEnvironmentId: qa }), [['preview'], id, [id, qa]])
  assert.deepEqual(await edit({ customEnvironmentId: null }), [['preview'], undefined, []])
  assert.deepEqual(await edit({ customEnvironmentIds: [id] }), [['preview'], id, [id]])
  assert.deepEqual(await edit({ customEnvironmentIds: null }), [['preview'], undefined, []])
  const listed = (await call('GET', '/v9/projects/web/env')).body.envs[0]
  assert.equal('customEnvironmentId' in listed, false)
})

onBothEngines('with the add-on a hobby account protects all of its deployments by sign-in', async (world) => {
  const plan = (addOns: string[]) =>
    world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'hobby', addOns })
  await plan([])
  const body = { name: 'web', ssoProtection: { deploymentType: 'all' } }
  assert.equal((await world.call.try('POST', '/v10/projects', body)).status, 428)
  await plan(['advanced-deployment-protection'])
  assert.equal((await world.call('POST', '/v10/projects', body)).status, 200)
})

/** The unmodified SDKs, pointed here with `serverURL`: every call decodes, against bare projects and ones with every setting set. docs/spec/wire.md 4. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../support/world.ts'
import { BESIDE, ON_CREATE, ON_UPDATE } from '../support/worlds/full-project.ts'

// biome-ignore lint/suspicious/noExplicitAny: three versions of one client, whose types differ; each checks its answers itself
type Api = Record<string, (request?: object) => Promise<any>>
type Sdk = { projects: Api; user: Api; teams: Api }

const VERSIONS = {
  '1.1.0': { pauses: false, gets: false, switchesCache: true },
  '1.6.3': { pauses: true, gets: false, switchesCache: true },
  '1.28.35': { pauses: true, gets: true, switchesCache: false },
} as const
type Version = keyof typeof VERSIONS

const LOAD = {
  '1.1.0': () => import('sdk-1.1.0'),
  '1.6.3': () => import('sdk-1.6.3'),
  '1.28.35': () => import('sdk-1.28.35'),
}

async function openSdk(version: Version, bearerToken: string, serverURL: string): Promise<Sdk> {
  const { Vercel } = await LOAD[version]()
  return new Vercel({ bearerToken, serverURL }) as unknown as Sdk
}

/** Every operation that this version has, on the account that `team` says. */
async function useAll(
  version: Version,
  sdk: Sdk,
  world: World,
  team: { teamId?: string; slug?: string },
): Promise<void> {
  const has = VERSIONS[version]
  const accountId =
    team.teamId === undefined && team.slug === undefined ? world.credentials.userId : world.credentials.teamId
  const query = new URLSearchParams(team)
  const bare = await sdk.projects.createProject!({ ...team, requestBody: { name: 'bare' } })
  assert.deepEqual([bare.name, bare.accountId, bare.framework, bare.nodeVersion], ['bare', accountId, null, '22.x'])
  const full = await sdk.projects.createProject!({ ...team, requestBody: { name: 'full', ...ON_CREATE } })
  assert.deepEqual([full.framework, full.buildCommand], ['nextjs', 'make'])
  const raw = await world.call('PATCH', `/v9/projects/full?${query}`, BESIDE)
  assert.equal(raw.status, 200, raw.text)
  const changed = await sdk.projects.updateProject!({ ...team, idOrName: 'full', requestBody: ON_UPDATE })
  assert.deepEqual([changed.nodeVersion, changed.gitForkProtection, changed.skewProtectionMaxAge], ['18.x', false, 60])
  const cleared = await sdk.projects.updateProject!({
    ...team,
    idOrName: bare.id,
    requestBody: { framework: null, buildCommand: null },
  })
  assert.equal(cleared.id, bare.id)

  if (has.pauses) {
    await sdk.projects.pauseProject!({ ...team, projectId: full.id })
    assert.equal((await world.call('GET', `/v9/projects/full?${query}`)).body.paused, true)
    await sdk.projects.unpauseProject!({ ...team, projectId: full.id })
  }
  if (has.switchesCache) {
    const requestBody = { disabled: true }
    const switched = await sdk.projects.updateProjectDataCache!({ ...team, projectId: full.id, requestBody })
    assert.equal(switched.dataCache.userDisabled, true)
  }
  if (has.gets) {
    for (const said of [bare, full]) {
      for (const idOrName of [said.id, said.name]) {
        assert.equal((await sdk.projects.getProject!({ ...team, idOrName })).id, said.id)
      }
    }
  }
  const listed = await sdk.projects.getProjects!({ ...team, search: 'FUL', limit: '5' })
  assert.deepEqual(
    listed.projects.map((project: { id: string }) => project.id),
    [full.id],
  )
  assert.deepEqual({ ...listed.pagination }, { count: 1, next: null, prev: null })
  for (const said of [bare.id, 'full']) await sdk.projects.deleteProject!({ ...team, idOrName: said })
  assert.deepEqual((await sdk.projects.getProjects!(team)).projects, [])
}

for (const version of Object.keys(VERSIONS) as Version[]) {
  onBothEngines(`SDK ${version} uses every operation it has, for a user and for a team`, async (world) => {
    const { userId, teamId, token } = world.credentials
    for (const id of [userId, teamId])
      await world.operator('PATCH', `/operator/v1/accounts/${id}`, { plan: 'enterprise' })
    const sdk = await openSdk(version, token, await world.listen())
    for (const team of [{}, { teamId }, { slug: 'team' }]) await useAll(version, sdk, world, team)

    const { user } = await sdk.user.getAuthUser!()
    assert.deepEqual([user.id, user.username, user.email], [userId, 'admin', 'admin@berth.localhost'])
    const { teams, pagination } = await sdk.teams.getTeams!({ limit: 5 })
    assert.deepEqual(
      [teams[0].id, teams[0].slug, teams[0].membership.role, pagination.count],
      [teamId, 'team', 'OWNER', 1],
    )
    if ('getTeam' in sdk.teams) assert.equal((await sdk.teams.getTeam!({ teamId })).slug, 'team')
  })

  onBothEngines(`SDK ${version} pages through 45 projects, and its errors carry status and body`, async (world) => {
    for (let at = 0; at < 45; at++) await world.call('POST', '/v10/projects', { name: `p${at}` })
    const sdk = await openSdk(version, world.credentials.token, await world.listen())
    const seen = new Set<string>()
    // Their getProjects has no `until`: `from` takes the cursor too.
    for (let from: string | undefined, pages = 0; pages < 10; pages++) {
      const { projects, pagination } = await sdk.projects.getProjects!({ limit: '20', ...(from && { from }) })
      for (const { name } of projects) assert.equal(seen.size < seen.add(name).size, true, `${name} came twice`)
      if (pagination.next === null) break
      from = String(pagination.next)
    }
    assert.equal(seen.size, 45)
    const refused = [
      [() => sdk.projects.createProject!({ requestBody: { name: 'p1' } }), 409, 'conflict'],
      [() => sdk.projects.updateProject!({ idOrName: 'none', requestBody: {} }), 404, 'not_found'],
      [() => sdk.projects.createProject!({ requestBody: { name: 'Wrong' } }), 400, 'invalid_project_name'],
      [() => sdk.projects.getProjects!({ teamId: 'team_none' }), 403, 'forbidden'],
    ] as const
    for (const [ask, status, code] of refused) {
      await assert.rejects(ask, (error: { statusCode?: number; httpMeta?: { response: Response } }) => {
        // Some versions give some statuses an error class of their own, which carries the body and no status.
        assert.ok(error.statusCode === status || error.constructor.name.startsWith('Vercel'), String(error))
        assert.ok(`${error}${JSON.stringify(error)}`.includes(code), JSON.stringify(error).slice(0, 300))
        return true
      })
    }
  })
}

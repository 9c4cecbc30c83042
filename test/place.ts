/** A world with something in it, one good request for every operation of the route table, and a digest of all that is stored. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type Route, unversioned } from '../src/http/route.ts'
import { ROUTES } from '../src/routes.ts'
import type { Method, World } from './world.ts'

export type Place = {
  projectId: string
  userId: string
  teamId: string
  /** A second user with a project `secret` and a team `rivals` of their own. */
  rival: Awaited<ReturnType<World['user']>> & { projectId: string; teamId: string }
  /** A user in nothing, whose token nobody needs. */
  spare: { id: string; tokenId: string }
}

/** Fills a world: project `web` of the first user, and a rival tenant. */
export async function openPlace(world: World): Promise<Place> {
  const projectId = await makeProject(world, 'web')
  const rival = await world.user('rival')
  const team = await world.operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id })
  const secret = await rival.call('POST', '/v10/projects', { name: 'secret' })
  assert.equal(secret.status, 200)
  const spare = await world.user('spare')
  const token = await world.operator('POST', '/operator/v1/tokens', { userId: spare.id })
  return {
    projectId,
    userId: world.credentials.userId,
    teamId: world.credentials.teamId,
    rival: { ...rival, projectId: secret.body.id, teamId: team.body.id },
    spare: { id: spare.id, tokenId: token.body.id },
  }
}

/** Makes a project of the first user and gives its id. */
export async function makeProject(world: World, name: string, query = ''): Promise<string> {
  const made = await world.call('POST', `/v10/projects${query}`, { name })
  assert.equal(made.status, 200, made.text)
  return made.body.id
}

export type Asked = { method: Method; url: string; body: unknown }

const BODIES: Record<string, object> = {
  createProject: { name: 'sample' },
  updateProject: { framework: 'nextjs' },
  updateProjectDataCache: { disabled: true },
  operatorCreateUser: { email: 'sample@example.com', username: 'sample' },
  operatorUpdateUser: { name: 'Spare' },
  operatorCreateTeam: { slug: 'samples', name: 'Samples' },
  operatorSetMember: { role: 'VIEWER' },
  operatorUpdateAccount: { plan: 'enterprise' },
  operatorCreateToken: { name: 'sample' },
  operatorRunTimer: {},
}
const BODIES_THAT_NAME_A_USER: Record<string, string> = {
  operatorCreateTeam: 'ownerId',
  operatorCreateToken: 'userId',
}

/** A request of this operation that succeeds in the place; `path` replaces what the path names. */
export function sampleOf(route: Route, place: Place, path: Record<string, string> = {}): Asked {
  const named: Record<string, string> = {
    idOrName: 'web',
    projectId: place.projectId,
    userId: place.spare.id,
    teamId: place.teamId,
    accountId: place.teamId,
    idOrSlug: 'team',
    id: place.spare.tokenId,
    name: 'old-events',
    ...path,
  }
  const url = route.path.replaceAll(/:(\w+)/g, (_, name) => named[name] ?? assert.fail(`no sample for :${name}`))
  if (!route.body) return { method: route.method, url, body: undefined }
  const body = BODIES[route.operationId] ?? assert.fail(`no sample body for ${route.operationId}`)
  const user = BODIES_THAT_NAME_A_USER[route.operationId]
  return { method: route.method, url, body: { ...body, ...(user && { [user]: place.spare.id }) } }
}

export const PUBLIC = ROUTES.filter((route) => route.door === 'public')
export const OPERATORS = ROUTES.filter((route) => route.door === 'operator')
/** The routes whose subject is one project. */
export const ON_PROJECT = PUBLIC.filter((route) => /:(idOrName|projectId)/.test(route.path))

/** The path of a route without its version, for a place. */
export function bare(asked: Asked): string {
  return unversioned(asked.url)
}

/** Adds to a query that may be there. */
export function withQuery(url: string, query: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}${query}`
}

const TABLES = ['account', 'member', 'token', 'project', 'event', 'audit', 'fact'] as const

/** One hash over every row of every table: equal digests, nothing written. */
export async function digest({ deps }: World): Promise<string> {
  const hash = createHash('sha256')
  for (const table of TABLES) {
    const rows = await deps.db.read.selectFrom(table).selectAll().execute()
    hash.update(
      rows
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n'),
    )
  }
  return hash.digest('hex')
}

/** A world with something for each form, and the addresses of the forms there. */
import assert from 'node:assert/strict'
import type { Route } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import type { Fields } from '../support/clients/browser-client.ts'
import { type Samples, sampleRequest, seedSamples } from '../support/sample-requests.ts'
import type { World } from '../support/world.ts'
import { consentAndInstall } from '../support/worlds/integration-world.ts'
import { CONSOLE_FORMS, FORMS } from './form-table.ts'

const BY_NAME = new Map(ROUTES.map((route) => [route.operationId, route]))
/** What only a team has: its forms are those of the first team. */
const OF_TEAMS = /^\/console\/t\/:slug\/(apps|members|settings)(\/|$)/
/** Forms of a shared variable, whose route names it in its body. */
const OF_SHARED = /^\/console\/t\/:slug\/variables\/|\/variables\/shared\//
/** The parameters of a form that its route calls otherwise. */
const ALIASES: Record<string, readonly string[]> = {
  id: ['id', 'deploymentId', 'userId', 'teamId', 'accountId', 'runner'],
  alias: ['idOrAlias'],
  uid: ['uid', 'inviteId'],
}

export type FormWorld = {
  samples: Samples
  /** The address of a form. */
  at(path: string): string
  /** The fields of a form that is taken; undefined where the table has none. */
  goodOf(path: string): Fields | undefined
}

/** The first route that a form calls; undefined where it calls none. */
export function routeOf(path: string): Route | undefined {
  const [name] = CONSOLE_FORMS.get(path)!.calls ?? []
  return name === undefined ? undefined : BY_NAME.get(name)!
}

/** Fills a world by `seedSamples`. The forms are those of the first user's own account, or of the team where only teams have them. */
export async function openForms(world: World): Promise<FormWorld> {
  const samples = await seedSamples(world)
  const { projectId, apps } = samples
  // An installation of all projects has no form that adds one.
  const { installationId } = await consentAndInstall(world, apps['teams-secrets'], {
    teamId: undefined,
    projects: [projectId],
  })
  return {
    samples,
    at: (path) => addressOf(path, path.includes(':id/projects') ? { ...samples, installationId } : samples),
    goodOf(path) {
      const { good } = FORMS[path]!
      return typeof good === 'function' ? good(samples) : good
    },
  }
}

function addressOf(path: string, samples: Samples): string {
  const route = routeOf(path)
  const named = route === undefined ? {} : namedBy(route, samples)
  const idOf = (name: string) => {
    if (name === 'slug') return OF_TEAMS.test(path) ? 'team' : 'admin'
    if (name === 'name' && path.includes('/projects/')) return 'web'
    if (name === 'sessionId') return '0123456789abcdef'
    if (name === 'id' && path.includes('/deployments/')) return samples.deploymentId
    if (name === 'id' && OF_SHARED.test(path)) return samples.sharedId
    const found = (ALIASES[name] ?? [name]).map((one) => named[one]).find((one) => one !== undefined)
    return found ?? assert.fail(`${path}: nothing is known of :${name}`)
  }
  return path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(idOf(name)))
}

/** What a good request of the route names in its path. */
function namedBy(route: Route, samples: Samples): Record<string, string> {
  const values = sampleRequest(route, samples).url.split('?')[0]!.split('/')
  const parts = route.path.split('/').map((part, at) => [part, values[at]!] as const)
  return Object.fromEntries(
    parts.flatMap(([part, value]) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(value)]] : [])),
  )
}

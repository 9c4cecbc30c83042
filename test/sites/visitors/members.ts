/** A site that only members of a team see, and browsers of users who want to. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Client, openClient, openSignedInClient } from '../../support/clients/browser-client.ts'
import { eventually } from '../../support/eventually.ts'
import { seedDeployment } from '../../support/projects.ts'
import type { World } from '../../support/world.ts'
import type { EdgeReply } from '../../support/worlds/edge-world.ts'
import { openInstance } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers, type Site } from './servers.ts'

export const HOST = 'one.apps.example.net'
/** Another host of the same project. */
export const OTHER = 'two.apps.example.net'
export const ELSEWHERE = 'else.apps.example.net'
const TRUSTED = { BERTH_TRUSTED_PROXIES: '127.0.0.1' }
const OVER_HTTPS = { 'x-forwarded-proto': 'https' }
export const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8'

/** A project of the first team with two domains, and one of the same team with another; only members see them. `config`, `files`: of the first. */
export async function openMembersOnly(
  world: World,
  t: TestContext,
  config: object = {},
  files: Record<string, string> = {},
) {
  const { teamId, userId } = world.credentials
  for (const id of [teamId, userId])
    await world.operator('PATCH', `/operator/v1/accounts/${id}`, { plan: 'enterprise' })
  const ofTeam = `?teamId=${teamId}` as const
  const make = async (name: string, hosts: string[], contents: Record<string, string>, built: object = {}) => {
    const { body } = await world.call('POST', `/v10/projects${ofTeam}`, { name })
    for (const host of hosts) await world.call('POST', `/v10/projects/${body.id}/domains${ofTeam}`, { name: host })
    const deploymentId = await seedDeployment(world, body.id, { url: `${name}.host.test` })
    await publish(world, deploymentId, built, contents)
    await protect({ ssoProtection: { deploymentType: 'all' } }, name)
    return body.id as string
  }
  const protect = async (said: object, name = 'web') => {
    await world.call('PATCH', `/v9/projects/${name}${ofTeam}`, said)
  }
  const pages = { 'static/index.html': 'secret', 'static/page.html': 'page', ...files }
  const id = await make('web', [HOST, OTHER], pages, config)
  const otherId = await make('other', [ELSEWHERE], { 'static/index.html': 'other secret' })
  const control = await openInstance(world)
  const servers = openSitesServers(t, TRUSTED)
  const site = await servers.start(control.origin)
  await eventually(async () => (await site.visit(HOST, '/', OVER_HTTPS)).status === 403)
  await eventually(async () => (await site.visit(ELSEWHERE, '/', OVER_HTTPS)).status === 403)
  const close = async () => {
    await site.stop()
    await control.close()
  }
  return { id, otherId, teamId, site, control, protect, close, browser: () => openBrowser(site) }
}

export type Browser = ReturnType<typeof openBrowser>

/** A browser at the sites server: keeps cookies of each host, and follows nothing automatically. */
export function openBrowser(site: Site, headers: Record<string, string> = OVER_HTTPS) {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (host: string) => jars.getOrInsertComputed(host, () => new Map<string, string>())
  const visit = async (
    host: string,
    path = '/',
    more: Record<string, string> = {},
    method = 'GET',
  ): Promise<EdgeReply> => {
    const cookie = [...jarOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = { ...headers, accept: HTML, ...(cookie !== '' && { cookie }), ...more }
    const answer = await site.visit(host, path, sent, method)
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) jarOf(host).delete(name)
      else jarOf(host).set(name, value)
    }
    return answer
  }
  return { visit, jarOf }
}

/** Path and query of the page where a browser signs in to a host. */
export async function beginAt({ visit }: Pick<Browser, 'visit'>, host = HOST, path = '/'): Promise<string> {
  const { status, headers, text } = await visit(host, path)
  assert.equal(status, 303, text)
  const { pathname, search } = new URL(headers.location!)
  return pathname + search
}

/** Path and query that the console redirects to, for a user who is signed in there. */
export async function approve(person: Client, page: string): Promise<string> {
  assert.match((await person.get(page)).text, /<button class="btn primary">Open the site<\/button>/)
  const { status, location, text } = await person.post(page)
  assert.equal(status, 303, text)
  const { pathname, search } = new URL(location)
  return pathname + search
}

/** A browser of a user who is signed in at the console and came into the host. */
export async function enter(person: Client, browser: Browser, host = HOST, path = '/', begun = path): Promise<void> {
  const back = await approve(person, await beginAt(browser, host, begun))
  const { status, headers } = await browser.visit(host, back)
  assert.deepEqual([status, headers.location], [303, path])
}

/** A member of the first team with this role, signed in at the console. */
export async function memberOf(world: World, name: string, role: string) {
  const user = await world.user(name)
  await world.join(user, role)
  return { ...user, client: await openSignedInClient(world, user.id, name) }
}

/** A user who is in no team, signed in at the console. */
export async function strangerOf(world: World, name: string) {
  const user = await world.user(name)
  return { ...user, client: await openSignedInClient(world, user.id, name) }
}

export { openClient }

/** What a page offers to a role is what the routes behind it allow the role. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { ROLE_PERMISSIONS, ROLES, type Role } from '../../src/platform/permissions/roles.ts'
import { ROUTES } from '../../src/routes.ts'
import { callWith } from '../support/call.ts'
import { type Client, openSignedInClient } from '../support/clients/browser-client.ts'
import { seedDeployment } from '../support/projects.ts'
import { markDomainsVerified } from '../support/states.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { consentAndInstall, seedIntegration } from '../support/worlds/integration-world.ts'
import { seedVariables } from './production-variables.ts'

const BY_NAME = new Map(ROUTES.map((route) => [route.operationId, route]))
/** Of several screens with one address the one without names comes first: `variables/new` is not a variable. */
const SCREENS = CONSOLE.map((screen) => ({
  ...screen,
  address: new RegExp(`^${screen.path.replaceAll(/:\w+/g, '[^/]+')}$`),
  names: screen.path.split(':').length,
})).sort((one, two) => one.names - two.names)
const OFFERED = /<(a|form)\b[^>]* (?:href|action)="(\/console\/[^"?#]*)[^"]*"[^>]*>/g

/** Whether a role may ask all these routes. */
function may(role: Role, operations: readonly string[]): boolean {
  return operations.every((name) =>
    (BY_NAME.get(name)?.needs ?? []).every((permission) => ROLE_PERMISSIONS[role].includes(permission)),
  )
}

/** TABLE what more than the permission of a route decides, but for variables of production → why. */
const OTHER_RULES: readonly (readonly [path: RegExp, why: string])[] = [
  [/\/variables\/env_\w+$/, 'a value has a permission of its own: console/variable-roles.test.ts'],
  [/\/projects\/other\/settings\/git$/, 'the advice to link a repository'],
  [/\/members\/usr_\w+\/(?:remove|leave)$/, 'users leave, and owners remove others'],
]

/** TABLE the screens of a team that no page of `fillTeam` offers → why. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  'GET projects/:name/deployments/:id/log/export': 'nothing was built',
  'GET projects/:name/deployments/:id/redeploy': 'nothing was built',
  'GET projects/:name/deployments/progress': 'nothing was promoted',
  'POST apps/:id/delete': 'an installed app cannot be removed',
  'POST drains/:id/deliveries/:deliveryId/replay': 'no line was sent',
  'POST drains/:id/enable': 'none is disabled',
  'POST drains/:id/take-over': 'none is on hold',
  'POST drains/new/test': 'a button of the form that creates',
  'POST projects/:name/automatic-promotion': 'nothing was rolled back',
  'POST projects/:name/crons': 'no deployment has cron jobs',
  'POST projects/:name/deployments/:id/cancel': 'nothing was built',
  'POST projects/:name/deployments/:id/redeploy': 'nothing was built',
  'POST projects/:name/deployments/remove': 'no deployment was chosen',
  'POST projects/:name/settings/bypass/revoke': 'there are no bypass secrets',
  'POST projects/:name/settings/bypass/variable': 'there are no bypass secrets',
  'POST projects/:name/unpause': 'none is paused',
  'POST projects/:name/variables/delete': 'no variable was chosen',
  'POST webhooks/:id/enable': 'none is disabled',
  'POST webhooks/:id/take-over': 'none is on hold',
}

/** A team with one of everything. Gives the ids of its variables. */
async function fillTeam(world: World) {
  const { teamId } = world.credentials
  const call = callWith(world.call, `teamId=${teamId}`)
  const ids = await seedVariables(world)
  await call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
  await markDomainsVerified(world)
  await call('POST', '/v10/projects/web/domains', { name: 'unverified.example.com' })
  await call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
  await call('POST', '/v9/projects/web/link', { type: 'github', repo: 'acme/web' })
  await call('POST', '/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.created'] })
  await call('POST', '/v1/log-drains', { url: 'https://logs.example.com', deliveryFormat: 'json', sources: ['edge'] })
  await call('POST', '/v10/projects', { name: 'other' })
  await call('POST', `/v1/teams/${teamId}/members`, { email: 'invited@example.com' })
  for (const url of ['web-1.apps.example.net', 'web-2.apps.example.net'])
    await seedDeployment(world, ids.projectId, { url })
  const app = await seedIntegration(world)
  await consentAndInstall(world, app, { teamId, projects: [ids.projectId] })
  return ids
}

/** Every page of the team that is reached by links. Gives their texts by address. */
async function walk(client: Client, slug: string): Promise<Map<string, string>> {
  const pages = new Map<string, string>()
  const next = [(await client.get('/console')).location]
  for (const address of next) {
    const { status, text } = await client.get(address)
    assert.equal(status, 200, `${address} is offered`)
    pages.set(address, text)
    for (const [, element, to = ''] of text.matchAll(OFFERED))
      if (element === 'a' && to.startsWith(`/console/t/${slug}/`) && !to.endsWith('/export') && !next.includes(to))
        next.push(to)
  }
  return pages
}

function screenOf(offer: string) {
  const [method, to = ''] = offer.split(' ')
  return SCREENS.find((one) => one.method === method && one.address.test(to))
}

/** The routes behind what a page offers; undefined for what is not of the team. */
function askedBy(method: string, to: string, slug: string) {
  const screen = screenOf(`${method} ${to}`)
  if (screen === undefined || !to.startsWith(`/console/t/${slug}`)) return undefined
  return [...(screen.calls ?? []).slice(0, 1), ...(screen.requiresCall ? [screen.requiresCall] : [])]
}

/** What a page offers: the method and the address of each link and form. */
function offersOf(text: string): (readonly [method: string, to: string])[] {
  return [...text.matchAll(OFFERED)].map(([tag, element, to = '']) => {
    return [element === 'form' && tag.includes('method="post"') ? 'POST' : 'GET', to] as const
  })
}

onBothEngines('a page offers to a role what the routes behind it allow the role, and no more', async (world) => {
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body
  const { live, liveShared } = await fillTeam(world)
  const walks = new Map<Role, Map<string, string>>()
  for (const role of ROLES) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    walks.set(role, await walk(await openSignedInClient(world, user.id, role.toLowerCase()), slug))
  }
  const seen = new Set<string>()
  for (const [role, pages] of walks)
    for (const [address, text] of pages)
      for (const [method, to] of offersOf(text)) {
        const asked = askedBy(method, to, slug)
        if (asked === undefined) continue
        assert.ok(may(role, asked), `${role} is offered ${method} ${to} on ${address}`)
        seen.add(`${method} ${to}`)
      }
  const offered = new Set([...seen].map((offer) => screenOf(offer)))
  const ofTeam = SCREENS.filter(({ path }) => path.startsWith('/console/t/'))
  const others = ofTeam
    .filter((screen) => !offered.has(screen))
    .map(({ method, path }) => `${method} ${path.slice(17)}`)
  assert.deepEqual(others.sort(), Object.keys(NOT_OFFERED).sort(), 'every other page and form of a team is offered')
  const lacks: string[] = []
  let compared = 0
  for (const [address, text] of walks.get('OWNER')!)
    for (const [role, pages] of walks) {
      const own = pages.get(address)
      if (own === undefined) continue
      const offered = new Set(offersOf(own).map((offer) => offer.join(' ')))
      for (const [method, to] of offersOf(text)) {
        const asked = askedBy(method, to, slug)
        if (asked === undefined || !may(role, asked)) continue
        if ([live, liveShared].some((id) => to.includes(id)) || OTHER_RULES.some(([path]) => path.test(to))) continue
        compared++
        if (!offered.has(`${method} ${to}`)) lacks.push(`${role} lacks ${method} ${to} on ${address}`)
      }
    }
  assert.deepEqual(lacks, [])
  assert.ok(compared > 500, `${compared} offers were compared`)
})

onBothEngines('a page with a single form says to other roles which roles can send it', async (world) => {
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body
  const ids = await fillTeam(world)
  const forms = SCREENS.filter(({ requiresCall }) => requiresCall !== undefined)
  assert.ok(forms.length > 10, `${forms.length} pages`)
  for (const role of ROLES) {
    const user = await world.user(role.toLowerCase())
    await world.join(user, role)
    const client = await openSignedInClient(world, user.id, role.toLowerCase())
    for (const { path, requiresCall } of forms) {
      const known: Record<string, string> = { slug, name: 'web', id: path.includes('variables') ? ids.tried : 'x' }
      const { status, text } = await client.get(path.replaceAll(/:(\w+)/g, (_, name: string) => known[name]!))
      if (may(role, [requiresCall!])) {
        assert.notEqual(status, 403, `${role} ${path}`)
        continue
      }
      assert.equal(status, 403, `${role} ${path}`)
      const able = ROLES.filter((one) => may(one, [requiresCall!]))
      assert.ok(text.includes(`Your role here is ${role}, which cannot do this. These roles can: ${able.join(', ')}.`))
    }
  }
})

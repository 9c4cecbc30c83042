/** The story that the examples of the events come from: each kind of event happens in a team, and a receiver of its webhook gets it. */
import assert from 'node:assert/strict'
import { EVENT_NAMES } from '../../../src/events.ts'
import { runTimer } from '../../../src/timers.ts'
import { callWith } from '../../support/call.ts'
import type { Cleanup } from '../../support/process.ts'
import { seedDeployment } from '../../support/projects.ts'
import type { DnsServer } from '../../support/servers/dns-server.ts'
import { deliver, receiver } from '../../support/servers/receiver.ts'
import type { Call, World } from '../../support/world.ts'
import { claim, verifyAllClaims } from '../../support/worlds/domain-world.ts'
import { consentAndInstall, seedIntegration } from '../../support/worlds/integration-world.ts'
import { setRole } from '../../support/worlds/team-installation.ts'

/** What the story needs in addition to its DNS server. */
export const STORY = { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1', BERTH_PUBLIC_URL: 'https://berth.example.com' }

/** Each body that arrived, by `type`. */
export type Told = Record<string, object[]>

/** Runs the story, and returns what the receiver got, in the order in which it happened. `dns`: where the world looks names up. */
export async function tellEvents(world: World, t: Cleanup, dns: DnsServer): Promise<Told> {
  const hook = await receiver(t)
  const team = callWith(world.call, `teamId=${world.credentials.teamId}`)
  must(await team.try('POST', '/v1/webhooks', { url: hook.url, events: EVENT_NAMES }))
  const { id } = must(await team.try('POST', '/v10/projects', { name: 'store' }))
  must(await team.try('PATCH', '/v9/projects/store', { name: 'shop' }))
  await changeVariables(team)
  await changeDomains(world, team, dns)
  await changeDeployments(world, team, id)
  await changeInstallation(world, team)
  await giveAway(world, team)
  must(await team.try('DELETE', '/v9/projects/shop'))
  await deliver(world)
  // A receiver gets what waits in any order.
  const order = await world.deps.db.read.selectFrom('event').select('id').orderBy('stamp').execute()
  const byId = new Map(hook.got.map(({ body }) => [body.id, body]))
  return Object.groupBy(
    order.flatMap((event) => byId.get(event.id) ?? []),
    ({ type }) => type,
  ) as Told
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is walked as JSON
function must(answer: { status: number; text: string; body?: any }): any {
  assert.ok(answer.status < 300, answer.text)
  return answer.body
}

async function changeVariables(team: Call): Promise<void> {
  const variable = {
    key: 'API_URL',
    value: 'https://api.example.com',
    type: 'plain',
    target: ['production', 'preview'],
  }
  const { created } = must(await team.try('POST', '/v10/projects/shop/env', variable))
  must(await team.try('PATCH', `/v9/projects/shop/env/${created.id}`, { value: 'https://api-2.example.com' }))
  must(await team.try('DELETE', `/v9/projects/shop/env/${created.id}`))
}

async function changeDomains(world: World, team: Call, dns: DnsServer): Promise<void> {
  const other = must(await team.try('POST', '/v10/projects', { name: 'blog' }))
  const own = await claim(dns, team, 'www.example.com', 'shop')
  await own.prove()
  dns.zones.delete(own.challenge.domain)
  must(await team.try('PATCH', '/v9/projects/shop/domains/www.example.com', { gitBranch: 'next' }))
  must(await team.try('PATCH', '/v9/projects/shop/domains/www.example.com', { gitBranch: null }))
  const eve = await verifyAllClaims(dns, (await world.user('eve')).call, 'theirs')
  await eve.prove('www.example.com')
  must(await team.try('POST', '/v1/projects/shop/domains/www.example.com/move', { projectId: other.id }))
  must(await team.try('DELETE', '/v9/projects/blog/domains/www.example.com'))
}

async function changeDeployments(world: World, team: Call, projectId: string): Promise<void> {
  const deploy = (label: string, readyState: string) =>
    seedDeployment(world, projectId, { url: `${label}.apps.example.net`, target: 'production', readyState })
  await deploy('shop-1', 'READY')
  must(await team.try('PATCH', '/v9/projects/shop', { autoAssignCustomDomains: false }))
  const next = await deploy('shop-2', 'READY')
  for (const state of ['ERROR', 'CANCELED']) await deploy(`shop-${state.toLowerCase()}`, state)
  must(await team.try('POST', `/v10/projects/${projectId}/promote/${next}`))
  await runTimer(world.deps, 'alias-requests', world.deps.clock.now())
  must(await team.try('DELETE', '/v13/deployments/shop-1.apps.example.net'))
}

async function changeInstallation(world: World, team: Call): Promise<void> {
  const { teamId } = world.credentials
  const app = await seedIntegration(world, { slug: 'deployer', scopes: ['read:project'] })
  const ids = ['blog', 'shop'].map(async (name) => must(await team.try('GET', `/v9/projects/${name}`)).id)
  const { installationId } = await consentAndInstall(world, app, { projects: await Promise.all(ids) })
  const path = `/v1/integrations/configuration/${installationId}` as const
  must(await team.try('POST', `${path}/project/blog`, { allowed: false }))
  const scopes = ['read-write:project']
  must(await world.operator.try('PATCH', `/operator/v1/integrations/${app.id}`, { scopes }))
  must(await team.try('POST', `${path}/confirm`, { scopes }))
  const ada = await world.user('ada')
  await setRole(world, ada.id, 'OWNER')
  must(await ada.call.try('POST', `${path}/transfer-ownership?teamId=${teamId}`))
  must(await team.try('DELETE', path))
}

/** The project `blog` goes to another account, and one that goes to an account that has its name by then stays. */
async function giveAway(world: World, team: Call): Promise<void> {
  const taker = await world.user('taker')
  const give = async (name: string) => {
    const { code } = must(await team.try('POST', `/projects/${name}/transfer-request`, {}))
    must(await taker.call.try('PUT', `/projects/transfer-request/${code}`, {}))
  }
  const sweep = () => runTimer(world.deps, 'project-transfers', world.deps.clock.now())
  await give('blog')
  await sweep()
  await give('shop')
  must(await taker.call.try('POST', '/v10/projects', { name: 'shop' }))
  await sweep()
}

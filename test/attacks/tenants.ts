/** Two teams that hold the same things under their own names, and no user of one has access to the other. */

import assert from 'node:assert/strict'
import { callWith } from '../support/call.ts'
import { seedDeployment } from '../support/projects.ts'
import { deploySite, type Samples } from '../support/sample-requests.ts'
import { addRows, markDomainsVerified } from '../support/states.ts'
import type { Call, World } from '../support/world.ts'
import { consentAndInstall, seedIntegration } from '../support/worlds/integration-world.ts'

export type Tenant = {
  mark: string
  teamId: string
  query: string
  /** The first OWNER, and a call of theirs that names the team. */
  ownerId: string
  owner: Call
  call: Call
  /** What a sample request is made from. */
  samples: Samples
  otherProjectId: string
  /** What the path names, by id and by name. */
  byId: Record<string, string>
  byName: Record<string, string>
}

/** A team whose every name and value holds `mark`, apart from a project called `web` that each has. */
export async function openTenant(world: World, mark: string): Promise<Tenant> {
  const user = await world.user(`${mark}-owner`)
  const team = await world.operator('POST', '/operator/v1/teams', {
    slug: mark,
    name: `Team ${mark}`,
    ownerId: user.id,
  })
  const teamId: string = team.body.id
  const query = `teamId=${teamId}`
  const call = callWith(user.call, query)
  const made = async <M extends 'POST' | 'PATCH', const U extends string>(method: M, url: U, body: object) => {
    const answer = await call.try(method, url, body)
    assert.ok(answer.status < 300, `${url}: ${answer.text}`)
    return answer.body
  }
  const { id: projectId } = await made('POST', '/v10/projects', { name: 'web' })
  const { id: otherProjectId } = await made('POST', '/v10/projects', { name: `only-${mark}` })
  const domain = `www.${mark}.dev`
  for (const name of [domain, `kept.${mark}.dev`]) await made('POST', '/v10/projects/web/domains', { name })
  await made('POST', `/v10/projects/only-${mark}/domains`, { name: `only.${mark}.dev` })
  await made('POST', '/v7/domains', { name: `${mark}.org` })
  await markDomainsVerified(world)
  const url = `${mark}.apps.example.net`
  const deploymentId = await seedDeployment(world, projectId, { url, meta: { note: mark } })
  const { siteId, fileId } = await deploySite(call, `<h1>${mark}</h1>`)
  const drain = { url: `https://logs.${mark}.dev`, sources: ['edge'], deliveryFormat: 'json' }
  const drainId = (await made('POST', '/v1/log-drains', drain)).id
  const otherDrainId = (await made('POST', '/v1/log-drains', drain)).id
  const newerDrainId = (await made('POST', '/v1/log-drains', drain)).id
  const hook = { url: `https://hooks.${mark}.dev`, events: ['project.created'] }
  const webhookId = (await made('POST', '/v1/webhooks', hook)).id
  const deliveryId = `dlv_${mark}${'0'.repeat(20)}`
  const row = { id: deliveryId, account_id: teamId, endpoint_id: webhookId, type: 'project.created', attempts: 1 }
  const done = { status: 'failed', due_at: null, done_at: 1, created_stamp: world.deps.clock.stamp() } as const
  await addRows(world, 'delivery', [{ ...row, ...done }])
  const attempt = { delivery_id: deliveryId, attempt: 1, at: 1, status_code: 500, duration_ms: 1, response: mark }
  await addRows(world, 'delivery_attempt', [attempt])
  await made('POST', '/v9/projects/web/link', { type: 'github', repo: `acme/${mark}` })
  await made('POST', '/v9/projects/web/custom-environments', { slug: `staging-${mark}` })
  const variable = { key: 'TOKEN', value: `value-${mark}`, type: 'plain', comment: mark, target: ['preview'] }
  const envId = (await made('POST', '/v10/projects/web/env', variable)).created.id
  await made('PATCH', `/v9/projects/web/env/${envId}`, { value: `newer-${mark}` })
  const sharing = {
    evs: [{ key: 'SHARED', value: `shared-${mark}`, comment: mark }],
    target: ['preview'],
    projectId: [projectId],
  }
  const sharedId = (await made('POST', '/v1/env', sharing)).created[0].id
  const transferCode = (await made('POST', `/projects/only-${mark}/transfer-request`, {})).code
  const mate = await world.user(`${mark}-mate`)
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'MEMBER' })
  const own = await world.operator('POST', '/operator/v1/tokens', { userId: user.id, name: mark })
  const invited = await made('POST', `/v1/teams/${teamId}/members`, { email: `guest@${mark}.dev` })
  const app = await seedIntegration(world, { slug: `app-${mark}`, name: `App ${mark}`, teamId })
  const installed = await consentAndInstall(world, app, { userId: user.id, teamId })
  const samples: Samples = {
    ...installed,
    ...{ projectId, userId: user.id, teamId, envId, deploymentId, transferCode, webhookId },
    ...{ drainId, otherDrainId, newerDrainId },
    ...{ oldDeploymentId: deploymentId, siteId, fileId, buildingId: deploymentId },
    ...{ sharedId, sharedToDelete: sharedId },
    ...{ mateId: mate.id, ownTokenId: own.body.id, idleKeyId: '', deliveryId, operatorsDeliveryId: deliveryId },
    drainDeliveryId: deliveryId,
    ...{ sentInvitationId: invited.uid, invitationId: 'nosuch' },
    apps: { helper: app, 'teams-secrets': app, 'operators-secrets': app, 'teams-last': app, 'operators-last': app },
    spare: { id: mate.id, tokenId: own.body.id },
    rival: { ...user, projectId, teamId },
  }
  const both = {
    uid: mate.id,
    userId: mate.id,
    teamId,
    accountId: teamId,
    domain,
    // A user with a code may take the project: it is not a name.
    code: 'nosuch',
    deploymentId,
    deliveryId,
    inviteId: invited.uid,
    secretId: app.secretId,
    fileId,
  }
  const byId = {
    ...both,
    idOrName: projectId,
    projectId,
    idOrSlug: teamId,
    idOrUrl: deploymentId,
    idOrAlias: `kept.${mark}.dev`,
    environmentSlugOrId: `staging-${mark}`,
  }
  const byName = { ...byId, idOrName: `only-${mark}`, projectId: `only-${mark}`, idOrSlug: mark, idOrUrl: url }
  return { mark, teamId, query, ownerId: user.id, owner: user.call, call, samples, otherProjectId, byId, byName }
}

/** What the path names when it names nothing: shaped like what is there. */
export function unknownLike(names: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [name, unknownOf(value)]))
}

export function unknownOf(value: string): string {
  if (/^[a-z]+_\w+$/.test(value)) return value.replace(/_.*$/, `_${'0'.repeat(value.length - value.indexOf('_') - 1)}`)
  if (value.includes('.')) return 'unknown.nosuch.dev'
  return /^[\w-]{30,}$/.test(value) ? '0'.repeat(value.length) : 'nosuch'
}

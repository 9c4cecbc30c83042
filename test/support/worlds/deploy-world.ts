/** What the tests of deployments share. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { seedDeployment } from '../projects.ts'
import type { World } from '../world.ts'
import { seedDomains } from './domain-world.ts'

/** Names under it require no verification. */
export const SETTINGS = { BERTH_PLATFORM_SUFFIX: 'apps.example.net' }

/** A project `web` with these verified domains (labels under the platform's suffix). */
export async function seedWebProject(world: World, labels: string[] = ['one', 'two']) {
  const project = await seedDomains(
    world,
    labels.map((label) => `${label}.apps.example.net`),
  )
  let serial = 0
  /** Registers a deployment, READY and for production by default. */
  const deploy = (said: object = {}) => seedDeployment(world, project.id, { url: `d${++serial}.host.test`, ...said })
  const patch = (id: string, body: object) => world.operator.try('PATCH', `/operator/v1/deployments/${id}`, body)
  const read = async () => (await world.call('GET', '/v9/projects/web')).body
  const promote = (id: string) => world.call.try('POST', `/v10/projects/${project.id}/promote/${id}`, {})
  const rollback = (id: string) => world.call.try('POST', `/v1/projects/${project.id}/rollback/${id}`, {})
  const sweep = () => runTimer(world.deps, 'alias-requests', world.deps.clock.now())
  return { id: project.id as string, deploy, patch, read, promote, rollback, sweep }
}

/** The deployment that each name points to, from the list of aliases. */
export async function readDomainAssignments(world: World): Promise<Record<string, string>> {
  const { body } = await world.call('GET', '/v4/aliases?limit=100')
  assert.equal(body.pagination.next, null)
  return Object.fromEntries(
    body.aliases.map((row: { alias: string; deploymentId: string }) => [row.alias, row.deploymentId]),
  )
}

export async function deploymentEvents(world: World): Promise<{ type: string; payload: Record<string, unknown> }[]> {
  const rows = await world.deps.db.read.selectFrom('event').selectAll().orderBy('stamp').execute()
  return rows
    .filter(({ type }) => type.startsWith('deployment.'))
    .map(({ type, payload_json }) => ({ type, payload: JSON.parse(payload_json) }))
}

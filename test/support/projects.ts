/** Creates a project of the first user, and a deployment of it, for most tests. */
import assert from 'node:assert/strict'
import type { World } from './world.ts'

/** Creates a project of the first user and returns its id. */
export async function seedProject(world: World, name: string, query = ''): Promise<string> {
  const made = await world.call('POST', `/v10/projects${query}`, { name })
  assert.equal(made.status, 200, made.text)
  return made.body.id
}

/** Registers a deployment, READY and for production by default, and returns its id. */
export async function seedDeployment(world: World, projectId: string, said: object): Promise<string> {
  const body = { target: 'production', readyState: 'READY', ...said }
  const made = await world.operator('POST', `/operator/v1/projects/${projectId}/deployments`, body)
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

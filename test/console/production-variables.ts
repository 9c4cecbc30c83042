/** Variables of a team that differ in who may change them. */
import { callWith } from '../support/call.ts'
import type { World } from '../support/world.ts'

/** A project `web` of the team with a variable and a shared variable of production, and of preview. Gives the ids. */
export async function seedVariables(world: World) {
  const call = callWith(world.call, `teamId=${world.credentials.teamId}`)
  const { id: projectId } = (await call('POST', '/v10/projects', { name: 'web' })).body
  const variable = async (key: string, target: string) => {
    const { created } = (await call('POST', '/v10/projects/web/env', { key, value: 'x', target: [target] })).body
    await call('PATCH', `/v9/projects/web/env/${created.id}`, { value: 'y' })
    return created.id
  }
  const shared = async (key: string, target: string) => {
    const body = { evs: [{ key, value: 'x' }], type: 'encrypted', target, projectId: [projectId] }
    return (await call('POST', '/v1/env', body)).body.created[0].id
  }
  return {
    projectId,
    live: await variable('LIVE', 'production'),
    tried: await variable('TRIED', 'preview'),
    liveShared: await shared('LIVE_SHARED', 'production'),
    triedShared: await shared('TRIED_SHARED', 'preview'),
  }
}

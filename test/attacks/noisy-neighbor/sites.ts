/** Passwords tried at one site, all of them wrong. docs/threats.md T85. */
import { callEdgeAt } from '../../support/worlds/edge-world.ts'
import { type Attack, again, mustDo, type Scene } from './scene.ts'

/** A project with a site of its own behind a password. */
export async function openGuardedSite({ call, operator }: Scene, host: string): Promise<void> {
  const name = host.split('.')[0]!
  const { id } = (await mustDo(call, 'POST', '/v10/projects', { name })) as { id: string }
  await mustDo(operator, 'POST', `/operator/v1/projects/${id}/deployments`, {
    url: host,
    target: 'production',
    readyState: 'READY',
    upstream: 'http://127.0.0.1:9',
  })
  const passwordProtection = { deploymentType: 'all', password: 'right' }
  await mustDo(call, 'PATCH', `/v9/projects/${name}`, { passwordProtection })
}

/** Asks the edge as a proxy does for a visitor of this address who says this password. */
export function visit({ edge }: Scene, host: string, address: string, password: string): Promise<{ status: number }> {
  const authorization = `Basic ${Buffer.from(`visitor:${password}`).toString('base64')}`
  return callEdgeAt(edge, '/edge/v1/check', { host, 'x-forwarded-for': address, authorization })
}

export const tryPasswords: Attack = {
  async prepare(scene) {
    await openGuardedSite(scene, 'guarded.host.test')
    return () => again(scene.ended, 60, (n) => visit(scene, 'guarded.host.test', '192.0.2.1', `wrong ${n}`))
  },
}

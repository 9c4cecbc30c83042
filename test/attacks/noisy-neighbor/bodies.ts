/** Bodies that become far more than their bytes: texts of very many variables, and JSON of nothing but containers. docs/threats.md T185, T186. */
import { Agent } from 'node:http'
import { type Attack, again, mustDo, type Scene } from './scene.ts'
import { send } from './send.ts'

const MIB = 1024 * 1024

/** Sends bodies over and over, so many at once; which one is sent changes each time. */
function flood(scene: Scene, atOnce: number, requests: { method: string; path: string; type: string; body: string }[]) {
  const { running, token, teamId, ended } = scene
  const agent = new Agent({ keepAlive: true })
  const bodies = requests.map(({ body, ...rest }) => ({ ...rest, body: Buffer.from(body) }))
  return async () => {
    await again(ended, atOnce, (n) => {
      const { method, path, type, body } = bodies[n % bodies.length]!
      const headers = { authorization: `Bearer ${token}`, 'content-type': type }
      return send(running.address, { method, path: `${path}teamId=${teamId}`, headers, body, agent })
    })
    agent.destroy()
  }
}

export const planTexts: Attack = {
  async prepare(scene) {
    await mustDo(scene.call, 'POST', '/v10/projects', { name: 'web' })
    const keys = Array.from({ length: 120_000 }, (_, at) => `K${at.toString(36)}=`).join('\n')
    const most = Array.from({ length: 1000 }, (_, at) => `K${at}=1`).join('\n')
    const bodies = [keys, most, '\r'.repeat(MIB - 1), `A=${'#'.repeat(MIB - 10)}\u2028x`, 'x\n'.repeat(MIB / 2 - 1)]
    const put = { method: 'PUT', path: '/v1/projects/web/env?dryRun=true&target=production&', type: 'text/plain' }
    return flood(
      scene,
      16,
      bodies.map((body) => ({ ...put, body })),
    )
  },
}

export const sendTrees: Attack = {
  async prepare(scene) {
    await mustDo(scene.call, 'POST', '/v10/projects', { name: 'web' })
    const objects = (count: number) => `[${'{},'.repeat(count - 1)}{}]`
    const open = (tree: string) => `{"name":"tree","trustedSources":{"a":${tree}}}`
    // As much as may be parsed, padded to as many bytes as may be sent.
    const padded = (text: string) => text + ' '.repeat(MIB - 1 - text.length)
    const post = { method: 'POST', type: 'application/json' }
    return flood(scene, 76, [
      { ...post, path: '/v10/projects?', body: open(objects((MIB - 100) / 3)) },
      { ...post, path: '/v10/projects?', body: padded(open(objects(24_000))) },
      { ...post, path: '/v10/projects/web/env?', body: padded(objects(24_000)) },
      { ...post, path: '/v10/projects/web/env?upsert=true&', body: objects(MIB / 3) },
    ])
  },
}

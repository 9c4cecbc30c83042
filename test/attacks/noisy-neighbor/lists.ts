/** The heaviest lists that can be had, requested by many, and read by none or by all. docs/threats.md T84. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Attack, again, getOf, mustDo, type Scene, sayAndReadNothing } from './scene.ts'

const PROJECTS = 60
const VARIABLES = 300
const LIST = '/v9/projects?limit=100'

/** Projects as heavy as they may be: free-form settings, trusted addresses, variables with comments. */
async function openHeavyProjects({ call }: Scene): Promise<void> {
  const freeForm = (bytes: number) => ({ trustedSources: { note: 'x'.repeat(bytes) } })
  // What one may say has changed; an attacker finds out how much is taken.
  const probe = await call('POST', '/v10/projects', { name: 'probe', ...freeForm(1_000_000) })
  const bytes = probe.status < 300 ? 1_000_000 : 16_000
  const variables = Array.from({ length: VARIABLES }, (_, at) => ({
    key: `KEY_${at}`,
    value: 'v',
    type: 'plain',
    target: ['production', 'preview', 'development'],
    comment: '\u{1}'.repeat(500),
  }))
  for (let at = 0; at < PROJECTS; at++) {
    const name = `heavy-${at}`
    await mustDo(call, 'POST', '/v10/projects', { name, ...freeForm(bytes) })
    // Some of the row are its variables, the most that a list shows and as heavy as they may be.
    if (at % 3 === 0) await mustDo(call, 'POST', `/v10/projects/${name}/env`, variables.slice(0, 30))
    if (at % 3 === 1) await mustDo(call, 'POST', `/v10/projects/${name}/env`, variables)
  }
}

export const readNothing: Attack = {
  async prepare(scene) {
    await openHeavyProjects(scene)
    return async () => {
      const path = `${LIST}&teamId=${scene.teamId}`
      const ask = () => sayAndReadNothing(scene.running.address, getOf(path, scene.token))
      const sockets = Array.from({ length: 200 }, ask)
      while (!scene.ended.aborted) {
        await sleep(100)
        // Who is let go comes again.
        for (const [at, socket] of sockets.entries()) if (socket.destroyed) sockets[at] = ask()
      }
      for (const socket of sockets) socket.destroy()
    }
  },
}

export const readManyLists: Attack = {
  async prepare(scene) {
    await openHeavyProjects(scene)
    return () => again(scene.ended, 64, () => scene.call('GET', LIST))
  },
}

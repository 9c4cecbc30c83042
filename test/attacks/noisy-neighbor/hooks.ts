/** A few requests that become many deliveries. docs/threats.md T80. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HttpCaller } from '../../support/process.ts'
import { type Attack, again, mustDo, openTeam } from './scene.ts'

const HOOKS = 20
const VARIABLES = 1000
const UPSERT = '/v10/projects/web/env?upsert=true'

export const floodHooks: Attack = {
  settings: { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' },
  async prepare({ call, ended, running, home }) {
    const target = createServer((request, response) => {
      request.resume()
      response.end()
    })
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
    ended.addEventListener('abort', () => {
      target.close()
      target.closeAllConnections()
    })
    const { port } = target.address() as AddressInfo
    await openHooks(call, port)
    // The runtime has compiled all of it before anything is measured. A team of its own: the attacker has the rows of its minute left.
    const { call: warm } = await openTeam(running, home, 'warm-up')
    await openHooks(warm, port)
    for (let n = 0; n < 5; n++) await mustDo(warm, 'POST', UPSERT, variables(n))
    return () => again(ended, 4, (n) => call('POST', UPSERT, variables(n)))
  },
}

async function openHooks(call: HttpCaller, port: number): Promise<void> {
  await mustDo(call, 'POST', '/v10/projects', { name: 'web' })
  const events = ['created', 'updated', 'deleted'].map((what) => `project.env-variable.${what}`)
  for (let at = 0; at < HOOKS; at++)
    await mustDo(call, 'POST', '/v1/webhooks', { url: `http://127.0.0.1:${port}/${at}`, events })
}

function variables(n: number): object[] {
  return Array.from({ length: VARIABLES }, (_, at) => ({
    key: `KEY_${at}`,
    value: `v${n}`,
    type: 'plain',
    target: ['production'],
  }))
}

/** A few requests that become many deliveries. docs/threats.md T80. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Attack, again, mustDo } from './scene.ts'

const HOOKS = 20
const VARIABLES = 1000

export const floodHooks: Attack = {
  settings: { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' },
  async prepare({ call, ended }) {
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
    await mustDo(call, 'POST', '/v10/projects', { name: 'web' })
    const events = ['created', 'updated', 'deleted'].map((what) => `project.env-variable.${what}`)
    for (let at = 0; at < HOOKS; at++)
      await mustDo(call, 'POST', '/v1/webhooks', { url: `http://127.0.0.1:${port}/${at}`, events })
    const variables = (n: number) =>
      Array.from({ length: VARIABLES }, (_, at) => ({
        key: `KEY_${at}`,
        value: `v${n}`,
        type: 'plain',
        target: ['production'],
      }))
    return () => again(ended, 4, (n) => call('POST', '/v10/projects/web/env?upsert=true', variables(n)))
  },
}

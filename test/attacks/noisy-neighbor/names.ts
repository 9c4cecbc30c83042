/** Look-ups without an answer. docs/threats.md T63. */
import { createSocket } from 'node:dgram'
import { type Attack, again } from './scene.ts'

/** A name server that receives and sends nothing. Its port is chosen before the service starts, which must know it. */
const SILENT = '127.0.0.1:5391'

export const lookUpSilentNames: Attack = {
  settings: { BERTH_DNS_SERVERS: SILENT },
  async prepare({ call, ended }) {
    const silent = createSocket('udp4')
    const [address, port] = SILENT.split(':')
    await new Promise<void>((resolve) => silent.bind(Number(port), address, resolve))
    ended.addEventListener('abort', () => silent.close())
    return () => again(ended, 64, (n) => call('GET', `/v6/domains/silent-${n}.dev/config`))
  },
}

/** Opens the ports of a service, and says what is in the way. docs/operations.md: Start and stop. */
import type { FastifyInstance } from 'fastify'
import { BadSetting, type Config } from '../config.ts'

/** Another program has the port. */
export class PortTaken extends Error {
  readonly code = 'EADDRINUSE'
}

/** What the system says of an address that is not one of this machine's, or not ours to take. */
const BAD_ADDRESS = ['ENOTFOUND', 'EADDRNOTAVAIL', 'EACCES', 'EAI_AGAIN']

/** Listens for clients. Throws PortTaken, and BadSetting for an address that is not this machine's. */
export async function listenToClients(
  app: Pick<FastifyInstance, 'listen'>,
  { host, port }: Pick<Config, 'host' | 'port'>,
): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new PortTaken(`port ${port} on ${host} is taken by another program: set PORT to a free one, or to 0`)
    if (!BAD_ADDRESS.includes(code)) throw error
    throw new BadSetting(`HOST and PORT: cannot listen on ${host}, port ${port} (${code})`)
  }
}

/** Listens for proxies; gives where, as a URL. Throws PortTaken, and BadSetting for anything else that is in the way. */
export async function listenToProxies(
  edge: { listen(host: string, port: number): Promise<string> },
  { host, port }: { host: string; port: number },
): Promise<string> {
  try {
    return await edge.listen(host, port)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE') throw new BadSetting(`BERTH_EDGE_PORT: cannot listen on ${host}, port ${port} (${code})`)
    throw new PortTaken(
      `the port for proxies, ${port}, is taken by another program: set BERTH_EDGE_PORT to a free one, to 0 or to off`,
    )
  }
}

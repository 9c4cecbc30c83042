/** Opens the ports of a service and reports errors as settings. docs/operations.md: Start and stop. */
import { lookup } from 'node:dns/promises'
import type { AddressInfo, Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { BadSetting, type Config } from '../../config.ts'

export class PortInUse extends Error {
  readonly code = 'EADDRINUSE'
}

/** Error codes for a foreign or forbidden address. */
const BAD_ADDRESS = ['ENOTFOUND', 'EADDRNOTAVAIL', 'EACCES', 'EAI_AGAIN']

async function addressOf(host: string): Promise<string> {
  return (await lookup(host, { order: 'ipv4first' })).address
}

/**
 * Listens for clients at one address. For `localhost` Fastify would open a second server without the limits of the first. Throws PortInUse, and
 * BadSetting for a foreign address. docs/limits.md: Connections.
 */
export async function listenToClients(
  app: Pick<FastifyInstance, 'listen'>,
  { host, port }: Pick<Config, 'host' | 'port'>,
): Promise<void> {
  try {
    await app.listen({ host: await addressOf(host), port })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new PortInUse(`port ${port} on ${host} is taken by another program: set PORT to a free one, or to 0`)
    if (!BAD_ADDRESS.includes(code)) throw error
    throw new BadSetting(`HOST and PORT: cannot listen on ${host}, port ${port} (${code})`, { cause: error })
  }
}

/** Opens a port; returns its URL. Rejects with the error of the port. */
export function listenOn(server: Server, host: string, port: number, scheme = 'http'): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const { address, family, port: bound } = server.address() as AddressInfo
      resolve(`${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`)
    })
  })
}

type Listening = { listen(host: string, port: number): Promise<string> }
type Place = { host: string; port: number }

/** Listens for proxies; returns the URL. Throws PortInUse, and BadSetting for other errors. */
export async function listenToProxies(edge: Listening, place: Place): Promise<string> {
  return listenAt(edge, place, 'BERTH_EDGE_PORT', `the port for proxies, ${place.port}, is taken by another program`)
}

/** Listens for visitors of sites; returns the URL. Throws PortInUse, and BadSetting for other errors. */
export async function listenToVisitors(sites: Listening, place: Place): Promise<string> {
  return listenAt(sites, place, 'BERTH_SITES_PORT', `the port for visitors, ${place.port}, is taken by another program`)
}

async function listenAt(server: Listening, { host, port }: Place, setting: string, inUse: string): Promise<string> {
  try {
    return await server.listen(await addressOf(host), port)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE')
      throw new BadSetting(`${setting}: cannot listen on ${host}, port ${port} (${code})`, { cause: error })
    throw new PortInUse(`${inUse}: set ${setting} to a free one, to 0 or to off`)
  }
}

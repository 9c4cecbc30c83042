/** Limits the connections of a listener, and closes idle ones for new ones. docs/limits.md: Connections. */
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { ConnectionSettings } from '../../config.ts'
import { isTrusted, networkOf } from '../base/network.ts'

/** Most connections of a listener. Each may hold 16 KB of incomplete headers. */
const MAX_CONNECTIONS = 10_000
/** Extra connections in Node.js itself: a new connection must be accepted before an idle one can be closed for it. */
const HEADROOM = 100
/** Connections checked for an idle one before the new connection is closed. */
const MAX_LOOKED_AT = 500

type ConnectionRules = ConnectionSettings & { max?: number }

type Connection = { socket: Socket; network: Network; response?: ServerResponse }
/** The connections of one address (IPv6: /64), in the order of their last requests. */
type Network = { name: string; connections: Set<Connection>; trusted: boolean }

/**
 * Limits the connections of a server and of each address. Above a limit, the longest idle connection is closed: of the same address, or of the
 * address with most connections. A connection is idle unless a complete request awaits its response. Trusted proxies have no limit per address.
 * Returns a function that closes a connection after its pending response, and returns whether one is pending.
 */
export function boundConnections(server: Server, rules: ConnectionRules): (socket: Socket) => boolean {
  const { max = MAX_CONNECTIONS, perAddress } = rules
  const held = openConnections(rules)
  const bySocket = new WeakMap<Socket, Connection>()
  const byPeer = new Map<string, Connection>()
  server.maxConnections = max + HEADROOM
  server.on('connection', (socket: Socket) => {
    const connection = held.add(socket)
    const { network } = connection
    bySocket.set(socket, connection)
    const peer = peerOf(socket)
    byPeer.set(peer, connection)
    socket.once('close', () => {
      held.remove(connection)
      if (byPeer.get(peer) === connection) byPeer.delete(peer)
    })
    // The new connection is idle too, and last in order: it is closed if all others are busy.
    if (!network.trusted && network.connections.size > perAddress) held.close(longestIdle([network]))
    if (held.total() > max) held.close(longestIdle(held.largestFirst()) ?? connection)
  })
  // An https request arrives on a socket that wraps the accepted one.
  server.on('secureConnection', (socket: Socket) => {
    const connection = byPeer.get(peerOf(socket))
    if (connection !== undefined) bySocket.set(socket, connection)
  })
  server.on('request', (_: unknown, response: ServerResponse) => {
    const connection = bySocket.get(response.req.socket)
    if (connection === undefined || !connection.network.connections.delete(connection)) return
    connection.response = response
    // A listener would retain the response for as long as the connection.
    response.once('close', () => {
      if (connection.response === response) delete connection.response
    })
    connection.network.connections.add(connection)
  })
  return (socket) => {
    const connection = bySocket.get(socket)
    if (connection === undefined || isIdle(connection)) return false
    const owed = connection.response!
    if (owed.shouldKeepAlive) owed.once('close', () => socket.destroySoon())
    owed.shouldKeepAlive = false
    return true
  }
}

function openConnections({ trustedProxies }: ConnectionRules) {
  const networks = new Map<string, Network>()
  const sizes = createSizes()
  let total = 0
  const networkFor = ({ remoteAddress = '' }: Socket): Network => {
    const trusted = isTrusted(trustedProxies, remoteAddress)
    const name = trusted ? remoteAddress : networkOf(remoteAddress)
    const network = networks.get(name) ?? { name, connections: new Set<Connection>(), trusted }
    networks.set(name, network)
    return network
  }
  const remove = (connection: Connection) => {
    const { network } = connection
    if (!network.connections.delete(connection)) return
    total--
    sizes.move(network, network.connections.size + 1)
    if (network.connections.size === 0) networks.delete(network.name)
  }
  return {
    remove,
    total: () => total,
    largestFirst: sizes.largestFirst,
    add(socket: Socket): Connection {
      const network = networkFor(socket)
      const connection = { socket, network }
      network.connections.add(connection)
      total++
      sizes.move(network, network.connections.size - 1)
      return connection
    },
    close(connection: Connection | undefined) {
      if (connection === undefined) return
      remove(connection)
      connection.socket.destroy()
    },
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** Returns the longest idle connection, in the first network with one. */
function longestIdle(networks: Iterable<Network>): Connection | undefined {
  let left = MAX_LOOKED_AT
  for (const { connections } of networks) {
    let here = Math.min(left, connections.size)
    left -= here
    for (const connection of connections) {
      if (here-- === 0) break
      if (isIdle(connection)) return connection
      // Move it to the end, so that the next check sees others.
      connections.delete(connection)
      connections.add(connection)
    }
    if (left === 0) return undefined
  }
  return undefined
}

function isIdle({ response }: Connection): boolean {
  return response === undefined || !response.req.complete || response.writableFinished
}

function createSizes() {
  const bySize: Set<Network>[] = []
  return {
    /** Updates a network whose size was `previous`. */
    move(network: Network, previous: number): void {
      const { size } = network.connections
      bySize[previous]?.delete(network)
      while (bySize.length <= size) bySize.push(new Set())
      if (size > 0) bySize[size]!.add(network)
      while (bySize.length > 0 && bySize.at(-1)!.size === 0) bySize.pop()
    },
    *largestFirst(): Generator<Network> {
      for (let size = bySize.length - 1; size > 0; size--) yield* bySize[size]!
    },
  }
}

/** Starts to listen, and returns the URL. Throws system errors. */
export function listenAt(server: Server, host: string, port: number, scheme: 'http' | 'https'): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const { address, family, port: bound } = server.address() as AddressInfo
      resolve(`${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`)
    })
  })
}

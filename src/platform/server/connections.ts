/** How many connections a listener has, and who gives way to a newcomer. docs/limits.md: Connections. */
import type { ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { ConnectionSettings } from '../../config.ts'
import { isTrusted, networkOf } from '../base/network.ts'

/** The most connections of a listener. Each may hold headers of 16 KB that are not whole yet. */
const MAX_CONNECTIONS = 10_000
/** How far the platform goes beyond that before it closes newcomers unseen: they have to be seen to make room for them. */
const HEADROOM = 100
/** How many connections are looked at for an idle one before the newcomer is closed. */
const MAX_LOOKED_AT = 500

type ConnectionRules = ConnectionSettings & { most?: number }

type Connection = { socket: Socket; network: Network; response?: ServerResponse }
/** The connections of one address (of IPv6 of a /64), in the order of their last requests. */
type Network = { name: string; connections: Set<Connection>; trusted: boolean }

/**
 * Bounds the connections of a server, and those of each address. Over a bound, the longest idle connection is closed: over that of an
 * address, one of the same address; over that of the listener, one of the address that has most. A connection is idle unless a whole
 * request waits for its answer. Addresses of trusted proxies have no bound of their own.
 * Gives what ends a connection behind the answer for which it waits, and says whether it waits for one: a client would take another for it.
 */
export function boundConnections(server: Server, rules: ConnectionRules): (socket: Socket) => boolean {
  const { most = MAX_CONNECTIONS, perAddress } = rules
  const held = openConnections(rules)
  const bySocket = new WeakMap<Socket, Connection>()
  const byPeer = new Map<string, Connection>()
  server.maxConnections = most + HEADROOM
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
    // The newcomer is idle too, and the last one to go: it is closed where all others are busy.
    if (!network.trusted && network.connections.size > perAddress) held.close(longestIdle([network]))
    if (held.total() > most) held.close(longestIdle(held.largestFirst()) ?? connection)
  })
  // Of https a request comes on a socket that wraps the one that was accepted.
  server.on('secureConnection', (socket: Socket) => {
    const connection = byPeer.get(peerOf(socket))
    if (connection !== undefined) bySocket.set(socket, connection)
  })
  server.on('request', (_: unknown, response: ServerResponse) => {
    const connection = bySocket.get(response.req.socket)
    if (connection === undefined || !connection.network.connections.delete(connection)) return
    connection.response = response
    // What it was made of would be held for as long as the connection is open.
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

/** The connections that are open, by their networks. */
function openConnections({ trustedProxies }: ConnectionRules) {
  const networks = new Map<string, Network>()
  const sizes = openSizes()
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

/** The connection that has been idle for longest, in the first network that has one. */
function longestIdle(networks: Iterable<Network>): Connection | undefined {
  let left = MAX_LOOKED_AT
  for (const { connections } of networks) {
    let here = Math.min(left, connections.size)
    left -= here
    for (const connection of connections) {
      if (here-- === 0) break
      if (isIdle(connection)) return connection
      // It is idle at the earliest from now on, and the next newcomer looks at others.
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

/** Networks by how many connections they have. */
function openSizes() {
  const bySize: Set<Network>[] = []
  return {
    /** Notes that the size of a network has changed from `former`. */
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

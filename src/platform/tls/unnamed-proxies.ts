/** TLS proxies in front of a listener that are not in BERTH_TRUSTED_PROXIES. docs/limits.md: Behind a proxy. */
import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import type { Logger } from 'pino'
import type { ConnectionSettings } from '../../config.ts'
import { isTrusted, plainAddress } from '../base/network.ts'

/** An address that sent requests with X-Forwarded-Proto https, and the number of them since the start. */
export type UnnamedProxy = { address: string; requests: number }

export type UnnamedProxies = {
  note(request: Pick<IncomingMessage, 'headers' | 'socket'>): void
  /** Those with most requests first. */
  seen(): UnnamedProxy[]
}

/** Anyone can send the header, so no more addresses are kept. */
const MOST = 20

/** Starts to count. Logs each address once. */
export function createUnnamedProxies(
  { trustedProxies }: Pick<ConnectionSettings, 'trustedProxies'>,
  log: Pick<Logger, 'warn'>,
): UnnamedProxies {
  const counts = new Map<string, number>()
  return {
    note({ headers, socket: { remoteAddress = '' } }) {
      const proto = headers['x-forwarded-proto']
      if (proto === undefined || !/(^|,)\s*https\s*$/i.test(String(proto))) return
      if (isTrusted(trustedProxies, remoteAddress)) return
      const address = plainAddress(remoteAddress)
      const before = counts.get(address)
      if (before === undefined && counts.size >= MOST) return
      counts.set(address, (before ?? 0) + 1)
      if (before === undefined)
        log.warn({ address }, 'requests come by a proxy with https that BERTH_TRUSTED_PROXIES does not name')
    },
    seen: () =>
      [...counts].map(([address, requests]) => ({ address, requests })).sort((a, b) => b.requests - a.requests),
  }
}

/** Counts requests of a server. Returns a stop function. */
export function watchProxies(server: Server, { note }: UnnamedProxies): () => void {
  server.on('request', note)
  return () => void server.off('request', note)
}

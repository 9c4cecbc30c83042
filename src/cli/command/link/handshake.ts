/** Checks that a client with the local authority reaches the service. docs/tls.md: Local use. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'

const TIMEOUT_MS = 15_000

/**
 * Makes the service create its certificate with a first handshake, then verifies it with one that trusts only `authority`. Throws a message without
 * TLS, or with the TLS of another service.
 */
export async function certify(api: string, authority: string): Promise<void> {
  await shake(api).catch((error) => {
    throw new Error(`the service at ${api} speaks no TLS: restart it with this version, and look at its log`, {
      cause: error,
    })
  })
  const otherFolder = `the service at ${api} has another data folder than BERTH_DATA says`
  if (!existsSync(authority)) throw new Error(`${otherFolder}: ${authority} is not there`)
  await shake(api, readFileSync(authority)).catch((error) => {
    throw new Error(`${otherFolder}: its certificate is not of ${authority}`, { cause: error })
  })
}

/** Sends no data, because without an authority the server is unverified. */
async function shake(api: string, ca?: Buffer): Promise<void> {
  const { hostname, port } = new URL(api)
  const host = hostname.replace(/^\[|\]$/g, '')
  const servername = isIP(host) === 0 ? host : ''
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca }
  const socket = connect({ host, port: Number(port || 443), servername, ...trust })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  } finally {
    socket.on('error', () => {}).destroy()
  }
}

/** Whether a client that trusts the authority of a laptop reaches the service. docs/tls.md: Local use. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'

const TIMEOUT_MS = 15_000

/**
 * Has the service make its certificate, which the first handshake does, and ends when a second one that trusts `authority` alone was good.
 * Throws a sentence where there is no TLS, or it is another service's.
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

/** Sends nothing: without an authority nobody knows who answers. */
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

/** Requests of commands to a service with a private certificate. docs/tls.md. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkServerIdentity, rootCertificates } from 'node:tls'
import type { Config } from '../../../config.ts'

/**
 * Returns a `fetch` that trusts exactly the certificate of BERTH_TLS_CERT, under any name, if set. Other certificates must be valid for the name and
 * trusted by the runtime.
 */
export async function createTrustedFetch({ tls }: Config): Promise<typeof fetch> {
  if (tls === undefined) return fetch
  const { Agent, fetch: fetchBy } = await import('undici')
  const cert = readFileSync(tls.cert)
  const { fingerprint256 } = new X509Certificate(cert)
  const connect = {
    ca: [...rootCertificates, cert.toString()],
    allowPartialTrustChain: true,
    checkServerIdentity: (host: string, peer: Parameters<typeof checkServerIdentity>[1]) =>
      peer.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, peer),
  }
  const dispatcher = new Agent({ connect, keepAliveTimeout: 1 })
  return ((url: string, init: object) => fetchBy(url, { ...init, dispatcher })) as typeof fetch
}

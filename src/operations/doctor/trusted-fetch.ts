/** How commands ask a service that speaks https with a certificate that may be known to nobody else. docs/tls.md. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkServerIdentity, rootCertificates } from 'node:tls'
import type { Config } from '../../config.ts'

/**
 * `fetch` as commands use it: where BERTH_TLS_CERT is set, the very certificate of that file is trusted, by whatever name the
 * service is asked; any other must be good for the name and signed by somebody whom the runtime trusts.
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

/** The program behind https with a certificate of its own, for a test. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { TestContext } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { credentialsOf, newHome, type RunningService, startService } from '../../support/process.ts'
import { noCertificates, openCertificates } from '../../support/servers/certificates.ts'

export const about = { skip: noCertificates, timeout: 300_000 }

export async function openSecure(t: TestContext, env: Record<string, string> = {}) {
  const certificates = openCertificates(t)
  const first = certificates.make('first')
  const home = await newHome(t, 'sqlite')
  const settings = { BERTH_TLS_CERT: first.cert, BERTH_TLS_KEY: first.key, ...env }
  const service = await startService(t, home, settings)
  return { ...certificates, first, home, settings, service, token: credentialsOf(home).token }
}

/** Connects without looking at whose certificate it is; gives the socket, which holds it. */
export async function shake(running: RunningService, options: object = {}): Promise<TLSSocket> {
  const { hostname, port } = new URL(running.address)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

export async function ask(service: RunningService): Promise<number> {
  const asked = request(`${service.address}/healthz`, { rejectUnauthorized: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode!
}

/** https on the API's own listener: certificate and key from files, taken anew when they are renewed. docs/tls.md. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server, ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, type Server as TlsServer } from 'node:tls'
import { BadSetting, type TlsSettings } from '../../config.ts'
import type { Deps } from '../../context.ts'
import { describeError, ofFile } from '../adapters/file-errors.ts'

/** Half a year: browsers use https alone for a name that the operator serves by https (BERTH_PUBLIC_URL). */
export const HSTS = 'max-age=15552000'

export type CertificatePair = { cert: Buffer; key: Buffer; leaf: X509Certificate }

/** The two files are read so often, because a link or a mount that changes sends no event. */
const LOOK_MS = 2000
/** A client begins its handshake at once. One that is silent is cut off; where there are many, the one that was silent for longest. */
const HANDSHAKE_MS = 5000
const MAX_HANDSHAKES = 1000
const SOON_MS = 14 * 86_400_000

/** Reads certificate and key. Throws BadSetting, naming the setting, when one cannot be read or they do not belong together. */
export function readPair({ cert, key }: TlsSettings): CertificatePair {
  return pairOf({ cert, key }, readPem('BERTH_TLS_CERT', cert), readPem('BERTH_TLS_KEY', key))
}

/** What a server is made of to speak https: TLS 1.2 or 1.3, and HTTP/1.1 inside. */
export function secureOptions({ cert, key }: Record<'cert' | 'key', Buffer | string>): ServerOptions {
  return { cert, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_MS }
}

/** Bounds handshakes, and takes renewed files while the server listens. `pair`: what it was made with. */
export function watchCertificate(
  server: Server,
  deps: Pick<Deps, 'log' | 'shutdownSignal'>,
  settings: TlsSettings,
  pair: CertificatePair,
): void {
  const endHandshakes = boundHandshakes(server, MAX_HANDSHAKES)
  // A connection without a finished handshake has no request on its way.
  deps.shutdownSignal.addEventListener('abort', () => setTimeout(endHandshakes, 1000).unref())
  tellAge(deps, pair)
  const renew = renewing(server, deps, settings, pair)
  server.on('listening', () => {
    const looking = setInterval(renew, LOOK_MS).unref()
    server.on('close', () => clearInterval(looking))
  })
}

/** Whether an error on a socket is of TLS, where no answer in HTTP would be read. */
export function isTlsError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new BadSetting(`${setting}: ${describeError(ofFile(file, error))}`)
  }
}

function pairOf(files: TlsSettings, cert: Buffer, key: Buffer): CertificatePair {
  const leaf = must(() => new X509Certificate(cert), `BERTH_TLS_CERT: ${files.cert} holds no certificate in PEM`)
  const secret = must(
    () => createPrivateKey(key),
    `BERTH_TLS_KEY: ${files.key} holds no private key in PEM, or one with a passphrase`,
  )
  if (!leaf.checkPrivateKey(secret))
    throw new BadSetting(`BERTH_TLS_KEY: the key in ${files.key} is not the key of the certificate in ${files.cert}`)
  must(() => createSecureContext(secureOptions({ cert, key })), `BERTH_TLS_CERT: ${files.cert} cannot be used`)
  return { cert, key, leaf }
}

function must<T>(make: () => T, otherwise: string): T {
  try {
    return make()
  } catch (error) {
    throw new BadSetting(`${otherwise} (${describeError(error)})`)
  }
}

/** Open connections keep the old certificate, new ones get the new one. A pair that does not fit changes nothing and is logged once. */
function renewing(
  server: Server,
  deps: Pick<Deps, 'log'>,
  settings: TlsSettings,
  first: CertificatePair,
): () => Promise<void> {
  let used = first
  let lastMessage = ''
  return async () => {
    try {
      const [cert, key] = await Promise.all([readFile(settings.cert), readFile(settings.key)])
      const isSame = cert.equals(used.cert) && key.equals(used.key)
      if (!isSame) {
        used = pairOf(settings, cert, key)
        server.setSecureContext(secureOptions(used))
        deps.log.info({ validTo: used.leaf.validToDate }, 'took the renewed certificate')
        tellAge(deps, used)
      }
      lastMessage = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== lastMessage) deps.log.warn(`the certificate in use stays: ${message}`)
      lastMessage = message
    }
  }
}

function tellAge({ log }: Pick<Deps, 'log'>, { leaf }: CertificatePair): void {
  const leftMs = leaf.validToDate.getTime() - Date.now()
  if (leftMs < SOON_MS)
    log.warn({ validTo: leaf.validToDate }, `the certificate ${leftMs < 0 ? 'has expired' : 'expires soon'}`)
}

/** Ends the oldest handshake when there are too many. Gives a function that ends all of them. */
export function boundHandshakes(server: TlsServer, most: number): () => void {
  const open = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket) => {
    const name = nameOf(socket)
    open.set(name, socket)
    socket.once('close', () => open.get(name) === socket && open.delete(name))
    const [oldest] = open.values()
    if (open.size > most) oldest?.destroy()
  })
  server.on('secureConnection', (socket) => open.delete(nameOf(socket)))
  return () => {
    for (const socket of open.values()) socket.destroy()
  }
}

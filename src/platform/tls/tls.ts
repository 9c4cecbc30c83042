/** HTTPS on the API's listener, with certificate and key from files that are reloaded when renewed. docs/tls.md. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server, ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, type Server as TlsServer } from 'node:tls'
import { BadSetting, type TlsSettings } from '../../config.ts'
import type { Deps } from '../../context.ts'
import { describeError, ofFile } from '../adapters/file-errors.ts'

/** Half a year: browsers use only https for a name served by https (BERTH_PUBLIC_URL). */
export const HSTS = 'max-age=15552000'

export type CertificatePair = { cert: Buffer; key: Buffer; leaf: X509Certificate }

/** Polling interval of the files, because a changed link or mount sends no event. */
const LOOK_MS = 2000
/** Longest handshake. Above the limit of handshakes, the oldest is closed. */
const HANDSHAKE_MS = 5000
const MAX_HANDSHAKES = 1000
const SOON_MS = 14 * 86_400_000

/** Reads certificate and key. Throws BadSetting with the name of the setting if one cannot be read or they do not match. */
export function readPair({ cert, key }: TlsSettings): CertificatePair {
  return pairOf({ cert, key }, readPem('BERTH_TLS_CERT', cert), readPem('BERTH_TLS_KEY', key))
}

/** Returns server options for TLS 1.2 or 1.3 with HTTP/1.1 inside. */
export function secureOptions({ cert, key }: Record<'cert' | 'key', Buffer | string>): ServerOptions {
  return { cert, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_MS }
}

/** Limits handshakes and reloads renewed files. `pair`: the initial one. */
export function watchCertificate(
  server: Server,
  deps: Pick<Deps, 'log' | 'shutdownSignal'>,
  settings: TlsSettings,
  pair: CertificatePair,
): void {
  const endHandshakes = boundHandshakes(server, MAX_HANDSHAKES)
  // A connection without a finished handshake has no request in flight.
  deps.shutdownSignal.addEventListener('abort', () => setTimeout(endHandshakes, 1000).unref())
  tellAge(deps, pair)
  const renew = renewing(server, deps, settings, pair)
  server.on('listening', () => {
    const timer = setInterval(renew, LOOK_MS).unref()
    server.on('close', () => clearInterval(timer))
  })
}

/** Whether a socket error is of TLS, so that the client could not read an HTTP response. */
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

/** Open connections keep the old certificate. An invalid pair is ignored and logged once. */
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
        deps.log.info({ validTo: used.leaf.validToDate }, 'loaded the renewed certificate')
        tellAge(deps, used)
      }
      lastMessage = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== lastMessage) deps.log.warn(`keeping the current certificate: ${message}`)
      lastMessage = message
    }
  }
}

function tellAge({ log }: Pick<Deps, 'log'>, { leaf }: CertificatePair): void {
  const leftMs = leaf.validToDate.getTime() - Date.now()
  if (leftMs < SOON_MS)
    log.warn({ validTo: leaf.validToDate }, `the certificate ${leftMs < 0 ? 'has expired' : 'expires soon'}`)
}

/** Closes the oldest handshake above the limit. Returns a function that closes all. */
export function boundHandshakes(server: TlsServer, max: number): () => void {
  const open = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.on('connection', (socket) => {
    const name = nameOf(socket)
    open.set(name, socket)
    socket.once('close', () => open.get(name) === socket && open.delete(name))
    const [oldest] = open.values()
    if (open.size > max) oldest?.destroy()
  })
  server.on('secureConnection', (socket) => open.delete(nameOf(socket)))
  return () => {
    for (const socket of open.values()) socket.destroy()
  }
}

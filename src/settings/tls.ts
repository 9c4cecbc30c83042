import { resolve } from 'node:path'
import { BadSetting } from './read.ts'

/** The files of the certificate (with its chain) and of its key, in PEM. */
export type TlsSettings = { cert: string; key: string }

/** Undefined: the API speaks plain http. What the files hold is read when they are used. Throws BadSetting. docs/tls.md. */
export function readTls(
  { BERTH_TLS_CERT: cert, BERTH_TLS_KEY: key }: Record<string, string | undefined>,
  publicUrl: string | undefined,
): TlsSettings | undefined {
  if (!cert && !key) return undefined
  if (!cert || !key)
    throw new BadSetting(
      `${cert ? 'BERTH_TLS_KEY' : 'BERTH_TLS_CERT'} must be set where ${cert ? 'BERTH_TLS_CERT' : 'BERTH_TLS_KEY'} is: https needs both`,
    )
  if (publicUrl?.startsWith('http:'))
    throw new BadSetting(`BERTH_PUBLIC_URL must begin with https:// where BERTH_TLS_CERT is set, not be "${publicUrl}"`)
  return { cert: resolve(cert), key: resolve(key) }
}

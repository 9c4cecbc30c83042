/** A self-made certificate for the names of this machine, for clients that require https of a Berth on a laptop. docs/tls.md: Local use. */
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { createFileAtomically, writeFileAtomically } from '../adapters/atomic-file.ts'
import { createDirectory } from '../adapters/directory.ts'
import { isThisMachine } from '../base/network.ts'
import { LAPTOP_SUFFIX } from '../settings/domains.ts'

/** In PEM: the certificate, its key, and the certificate of its authority. */
export type LocalCertificate = { cert: string; key: string; authority: string; validTo: Date }

type LaptopSettings = Pick<Config, 'tls' | 'host' | 'publicUrl' | 'edge' | 'sites'>

const DAY_MS = 86_400_000
/** Longest validity that browsers accept. */
const LASTS_DAYS = 397
const RENEWED_DAYS_BEFORE = 30
/** Delay after a failure, such as a full disk. */
const RETRY_MS = 10_000

const NAMES = ['localhost', LAPTOP_SUFFIX, `*.${LAPTOP_SUFFIX}`, '127.0.0.1', '::1']
/**
 * Name constraints (RFC 5280 4.2.1.10), in DER: `localhost` and subdomains, 127.0.0.0/8 and ::1. A client that trusts the authority trusts it only
 * for these.
 */
const NAME_CONSTRAINTS = Buffer.from(
  `303fa03d300b8209${Buffer.from('localhost').toString('hex')}300a87087f000000ff00000030228720${'00'.repeat(15)}01${'ff'.repeat(16)}`,
  'hex',
)
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * Returns the names for a local certificate, if Berth makes one. That is so if no certificate is set, the API listens on loopback only, and its URL has a name of
 * this machine. Otherwise undefined.
 */
export function localNames({ tls, host, publicUrl }: Pick<Config, 'tls' | 'host' | 'publicUrl'>): string[] | undefined {
  const publicHost = publicUrl && new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')
  if (tls !== undefined || !isThisMachine(host) || (publicHost && !isThisMachine(publicHost))) return undefined
  return [...new Set([...NAMES, host, ...(publicHost ? [publicHost] : [])])]
}

/** Whether the service starts its own sites server: on a laptop, unless a token is set, which implies a separate one. */
export function isBesideSites({ edge, sites, ...config }: LaptopSettings): boolean {
  const isWanted = edge.port !== undefined && edge.sitesToken === undefined && sites.port !== undefined
  return isWanted && localNames(config) !== undefined
}

/** Returns the file of the authority's certificate, for clients to trust. */
export function authorityFile({ dataDirectory }: Pick<Config, 'dataDirectory'>): string {
  return join(dataDirectory, 'tls', 'authority.pem')
}

/**
 * Returns a function that gets the certificate: from the data directory, or a new one if that has none for these names or its certificate expires
 * within 30 days. Throws the system error if it cannot be stored.
 */
export function openLocalCertificate(
  config: Pick<Config, 'dataDirectory'>,
  names: readonly string[],
): () => Promise<LocalCertificate> {
  let current: LocalCertificate | undefined
  let making: Promise<LocalCertificate> | undefined
  const begin = () => {
    const made = keptOrNew(config, names)
    const again = () => {
      making = undefined
    }
    made.then(
      (certificate) => {
        current = certificate
        again()
      },
      () => setTimeout(again, RETRY_MS).unref(),
    )
    return made
  }
  return () => {
    if (current !== undefined && lasts(current)) return Promise.resolve(current)
    making ??= begin()
    return making
  }
}

async function keptOrNew(config: Pick<Config, 'dataDirectory'>, names: readonly string[]): Promise<LocalCertificate> {
  const file = join(config.dataDirectory, 'tls', 'localhost.pem')
  const certificate = readKept(file, names) ?? keep(file, names, await make(names))
  const authority = authorityFile(config)
  if (textOf(authority) !== certificate.authority) writeFileAtomically(authority, certificate.authority)
  return certificate
}

/** Another instance over the same directory may have been faster. */
function keep(file: string, names: readonly string[], made: LocalCertificate): LocalCertificate {
  const text = `${made.cert}\n${made.authority}\n${made.key}\n`
  createDirectory(join(file, '..'))
  if (createFileAtomically(file, text)) return made
  const cached = readKept(file, names)
  if (cached === undefined) writeFileAtomically(file, text)
  return cached ?? made
}

function readKept(file: string, names: readonly string[]): LocalCertificate | undefined {
  const [cert, authority, key] = textOf(file)?.match(/-----BEGIN [\s\S]+?-----END .*-----/g) ?? []
  if (cert === undefined || authority === undefined || key === undefined) return undefined
  try {
    const leaf = new X509Certificate(cert)
    const isOurs = leaf.checkPrivateKey(createPrivateKey(key)) && leaf.checkIssued(new X509Certificate(authority))
    const certificate = { cert, authority, key, validTo: leaf.validToDate }
    const isUsable = isOurs && lasts(certificate) && leaf.validFromDate.getTime() <= Date.now()
    return isUsable && names.every((name) => isFor(leaf, name)) ? certificate : undefined
  } catch {
    // Not a certificate; a new one replaces it.
    return undefined
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function lasts({ validTo }: LocalCertificate): boolean {
  return validTo.getTime() - Date.now() > RENEWED_DAYS_BEFORE * DAY_MS
}

function isFor(leaf: X509Certificate, name: string): boolean {
  return (isIP(name) === 0 ? leaf.checkHost(name.replace(/^\*/, 'any')) : leaf.checkIP(name)) !== undefined
}

/** Creates an authority that signs once: its key never leaves this call. */
async function make(names: readonly string[]): Promise<LocalCertificate> {
  // Required by @peculiar/x509.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const [authorityKeys, keys] = await Promise.all([newKeys(false), newKeys(true)])
  const now = Date.now()
  const common = {
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + LASTS_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
  }
  const serverAuth = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth])
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...common,
    serialNumber: newSerial(),
    // Clients may trust several authorities, so each has a unique name.
    name: `CN=Berth on this machine ${randomBytes(4).toString('hex')}`,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      serverAuth,
      new x509.Extension('2.5.29.30', true, NAME_CONSTRAINTS),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  })
  const leaf = await x509.X509CertificateGenerator.create({
    ...common,
    serialNumber: newSerial(),
    subject: 'CN=localhost',
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      serverAuth,
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  })
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: leaf.toString('pem'), key, authority: authority.toString('pem'), validTo: common.notAfter }
}

function newKeys(extractable: boolean): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, extractable, ['sign', 'verify'])
}

/** 127 random bits, so that it is positive. */
function newSerial(): string {
  const bytes = randomBytes(16)
  bytes[0]! &= 0x7f
  return bytes.toString('hex')
}

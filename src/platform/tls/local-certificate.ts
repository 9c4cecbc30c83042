/**
 * A certificate of our own making for the names of this machine: clients that speak https alone reach a Berth on a laptop by it.
 * docs/tls.md: On a laptop.
 */
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { createFileAtomically, writeFileAtomically } from '../adapters/atomic-file.ts'
import { createDirectory } from '../adapters/directory.ts'
import { isThisMachine } from '../base/network.ts'
import { LAPTOP_SUFFIX } from '../settings/domains.ts'

/** In PEM: the certificate, its key, and the certificate of the authority that signed it. */
export type LocalCertificate = { cert: string; key: string; authority: string; validTo: Date }

type LaptopSettings = Pick<Config, 'tls' | 'host' | 'publicUrl' | 'edge' | 'sites'>

const DAY_MS = 86_400_000
/** As long as browsers believe a certificate of anybody. */
const LASTS_DAYS = 397
const RENEWED_DAYS_BEFORE = 30
/** After a failure, such as a full disk, the next attempt waits for so long. */
const RETRY_MS = 10_000

const NAMES = ['localhost', LAPTOP_SUFFIX, `*.${LAPTOP_SUFFIX}`, '127.0.0.1', '::1']
/**
 * Name constraints (RFC 5280 4.2.1.10), in DER: `localhost` and all below it, 127.0.0.0/8 and ::1. A client that trusts the authority
 * trusts it for nothing else.
 */
const NAME_CONSTRAINTS = Buffer.from(
  `303fa03d300b8209${Buffer.from('localhost').toString('hex')}300a87087f000000ff00000030228720${'00'.repeat(15)}01${'ff'.repeat(16)}`,
  'hex',
)
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/**
 * The names that the certificate is for, where Berth makes one: no certificate is set, the API listens on loopback alone, and people
 * reach it by a name of this machine. Undefined elsewhere.
 */
export function localNames({ tls, host, publicUrl }: Pick<Config, 'tls' | 'host' | 'publicUrl'>): string[] | undefined {
  const publicHost = publicUrl && new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')
  if (tls !== undefined || !isThisMachine(host) || (publicHost && !isThisMachine(publicHost))) return undefined
  return [...new Set([...NAMES, host, ...(publicHost ? [publicHost] : [])])]
}

/** Whether the service starts a sites server of its own: on a laptop, where nobody runs one. A token set by somebody means that somebody does. */
export function isBesideSites({ edge, sites, ...config }: LaptopSettings): boolean {
  const isWanted = edge.port !== undefined && edge.sitesToken === undefined && sites.port !== undefined
  return isWanted && localNames(config) !== undefined
}

/** The file of the authority's certificate, which clients are to trust. */
export function authorityFile({ dataDirectory }: Pick<Config, 'dataDirectory'>): string {
  return join(dataDirectory, 'tls', 'authority.pem')
}

/**
 * Gives the certificate whenever it is asked: the one of the data folder, or a new one where that has none for these names, or one that
 * ends in less than 30 days. Throws what the system says where none can be kept.
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

/** Another instance over the same folder may have been faster. */
function keep(file: string, names: readonly string[], made: LocalCertificate): LocalCertificate {
  const text = `${made.cert}\n${made.authority}\n${made.key}\n`
  createDirectory(join(file, '..'))
  if (createFileAtomically(file, text)) return made
  const kept = readKept(file, names)
  if (kept === undefined) writeFileAtomically(file, text)
  return kept ?? made
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
    // No certificate: a new one takes its place.
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

/** An authority, and what it signs once: its key cannot leave the memory of this call. */
async function make(names: readonly string[]): Promise<LocalCertificate> {
  // @peculiar/x509 wants it to be there first.
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
    // Of two that a client trusts, each is known by its name.
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

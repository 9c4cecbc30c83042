/** The checks of `berth doctor`, in the order in which to fix their findings. */
import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { canWrite } from '../../platform/adapters/directory.ts'
import { openDns } from '../../platform/adapters/dns.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { mailAdvice, tryMailServer } from '../../platform/adapters/mailer.ts'
import { pluralize } from '../../platform/base/text.ts'
import { openKeyring } from '../../platform/secrets/keyring.ts'
import { checkKeys, describeKeyProblems } from '../backup/integrity.ts'
import { checkBackups } from './backups.ts'
import { checkBuilds } from './builds.ts'
import { type Check, type Finding, findingsAbout } from './finding.ts'
import { checkKeyringCopy } from './keyring-copy.ts'
import { checkAddress } from './network/address.ts'
import { checkCertificate } from './network/certificate.ts'
import { checkOwnNames } from './network/own-names.ts'
import { checkOwnPort, checkPortForProxies } from './network/port.ts'
import { checkPictures } from './pictures.ts'
import { checkSandbox } from './sandbox.ts'
import { checkServer } from './server.ts'
import { checkFiles, checkSites, checkSuffixNames } from './sites.ts'
import { checkClock, checkDatabase, withStore } from './store.ts'

const MIB = 1024 * 1024
/** Below the first, the disk is nearly full. Below the second, it is full for logs and copies. */
const [LITTLE_SPACE, NO_SPACE] = [1024 * MIB, 64 * MIB]
/** A common name: both a record and its absence are valid answers. */
const ASKED_NAME = 'example.com'

export const CHECKS: Record<string, Check> = {
  folder: checkFolder,
  keyring: checkKeyring,
  'keyring copy': checkKeyringCopy,
  database: checkDatabase,
  'database server': checkServer,
  clock: checkClock,
  'disk space': checkSpace,
  backups: checkBackups,
  certificate: checkCertificate,
  port: checkOwnPort,
  'port for proxies': checkPortForProxies,
  address: checkAddress,
  DNS: checkDns,
  'platform suffix': checkSuffix,
  'own names': checkOwnNames,
  files: checkFiles,
  'sites server': checkSites,
  'names of sites': checkSuffixNames,
  builds: checkBuilds,
  sandbox: checkSandbox,
  pictures: checkPictures,
  mail: checkMail,
}

/** The data directory and its files must be readable by the service only. */
async function checkFolder({ dataDirectory, database }: Config): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('folder')
  if (!existsSync(dataDirectory)) {
    const above = nearestFolder(dataDirectory)
    if (canWrite(above)) return [well(`${dataDirectory} does not exist yet; the first start creates it`)]
    const advice = 'set BERTH_DATA to a directory that this user can create, or create it for this user'
    return [wrong(`${dataDirectory} does not exist and cannot be created in ${above}`, advice)]
  }
  if (!statSync(dataDirectory).isDirectory())
    return [wrong(`BERTH_DATA is ${dataDirectory}, which is a file`, 'set BERTH_DATA to a directory')]
  const findings: Finding[] = []
  if (!canWrite(dataDirectory)) {
    const advice = `make this user its owner: chown -R ${process.getuid?.() ?? '<user>'} ${dataDirectory}`
    findings.push(wrong(`${dataDirectory} cannot be written by this user`, advice))
  }
  const store = database.engine === 'sqlite' ? [database.file] : []
  for (const path of [dataDirectory, join(dataDirectory, 'credentials.json'), ...store]) {
    if (!existsSync(path) || (statSync(path).mode & 0o077) === 0) continue
    const open = path === dataDirectory ? worry : wrong
    findings.push(open(`${path} can be read by others`, `chmod go= ${path}`))
  }
  return findings.length > 0 ? findings : [well(`${dataDirectory}, for this user only`)]
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

/** Whether the keyring can be read. The database check compares it with the database. */
async function checkKeyring(config: Config): Promise<Finding[]> {
  const { well, wrong } = findingsAbout('keyring')
  const readProof = () => withStore(config, (db) => checkKeys(db, config)).catch(() => undefined)
  if ('file' in config.keys && !existsSync(config.keys.file)) {
    const found = `${config.keys.file} does not exist`
    const proof = await readProof()
    if (proof === undefined || proof.ids.length === 0) return [well(`${found} yet; the first start creates it`)]
    return [
      wrong(found, 'restore it from your backup of the keyring, or point BERTH_KEYS at it: the database needs it'),
    ]
  }
  const ring = openKeyring(config.keys, () => false)
  const proof = await readProof()
  const troubles = proof === undefined ? [] : describeKeyProblems(proof)
  if (troubles.length > 0) return troubles.map((found) => wrong(found, 'see docs/variables.md, The keyring'))
  const fits = proof === undefined ? '' : `, and they fit the database (${pluralize(proof.opened, 'value')} decrypted)`
  return [well(`${ring.place} has ${pluralize(ring.ids().length, 'root key')}${fits}`)]
}

async function checkSpace({ dataDirectory, database }: Config): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('disk space')
  const { bavail, bsize } = await statfs(nearestFolder(dataDirectory))
  const free = bavail * bsize
  const found = `${Math.floor(free / MIB)} MiB free at ${dataDirectory}`
  if (free < NO_SPACE) return [wrong(found, 'free disk space: writes fail with 507 when the disk is full')]
  const size = database.engine === 'sqlite' && existsSync(database.file) ? statSync(database.file).size : 0
  if (free < size)
    return [worry(found, `the database has ${Math.ceil(size / MIB)} MiB: a backup on this disk does not fit`)]
  if (free < LITTLE_SPACE) return [worry(found, 'free disk space before the disk is full')]
  return [well(found)]
}

/** Queries each resolver separately, because one that is unavailable slows down every lookup. */
async function checkDns({ dnsServers }: Config): Promise<Finding[]> {
  const about = 'DNS'
  const { well, wrong } = findingsAbout(about)
  const servers = dnsServers ?? [undefined]
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const name = server ?? 'the resolver of the system'
      const answer = await openDns(server === undefined ? undefined : [server]).readA(ASKED_NAME, about)
      if (answer !== undefined) return well(`${name} responds`)
      const advice =
        server === undefined
          ? 'set BERTH_DNS_SERVERS to resolvers that respond'
          : 'remove it from BERTH_DNS_SERVERS, or start it'
      return wrong(`${name} does not respond for ${ASKED_NAME}: no domain can be verified`, advice)
    }),
  )
}

async function checkSuffix(config: Config): Promise<Finding[]> {
  const { domains } = config
  if (domains.platformSuffix === undefined) return []
  const { well, worry, wrong } = findingsAbout('platform suffix')
  const { mustOwnSuffix, SHARED_DOMAIN_ADVICE, sharedDomainProblem } = await import('../../model/domain-name.ts')
  try {
    mustOwnSuffix(domains)
  } catch (error) {
    return [wrong((error as Error).message, 'the service does not start with it')]
  }
  const shared = sharedDomainProblem(config)
  if (shared !== undefined) return [worry(shared, SHARED_DOMAIN_ADVICE)]
  return [well(`names directly under ${domains.platformSuffix} belong to the first claimant`)]
}

async function checkMail({ mail }: Config): Promise<Finding[]> {
  const { well, worry, wrong } = findingsAbout('mail')
  if (mail.smtp === undefined)
    return [worry(`emails are written to ${mail.folder} and not sent`, 'set BERTH_SMTP_URL and BERTH_MAIL_FROM')]
  const place = `${mail.smtp.host}:${mail.smtp.port}`
  try {
    await tryMailServer(mail.smtp)
  } catch (error) {
    return [wrong(`${place}: ${describeError(error)}`, mailAdvice(error))]
  }
  return [well(`${place} accepts emails from ${mail.from.address}`)]
}

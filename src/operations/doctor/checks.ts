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
import type { Check, Finding } from './finding.ts'
import { checkKeyringCopy } from './keyring-copy.ts'
import { checkAddress } from './network/address.ts'
import { checkCertificate } from './network/certificate.ts'
import { checkOwnNames } from './network/own-names.ts'
import { checkOwnPort, checkPortForProxies } from './network/port.ts'
import { checkPictures } from './pictures.ts'
import { checkSandbox } from './sandbox.ts'
import { checkServer } from './server.ts'
import { checkFiles, checkSites, checkSuffixNames } from './sites.ts'
import { checkClock, checkDatabase } from './store.ts'

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
  const about = 'folder'
  if (!existsSync(dataDirectory)) {
    const above = nearestFolder(dataDirectory)
    if (!canWrite(above))
      return [
        {
          about,
          is: 'wrong',
          found: `${dataDirectory} does not exist and cannot be created in ${above}`,
          advice: 'set BERTH_DATA to a directory that this user can create, or create it for this user',
        },
      ]
    return [{ about, is: 'well', found: `${dataDirectory} does not exist yet; the first start creates it` }]
  }
  if (!statSync(dataDirectory).isDirectory())
    return [
      {
        about,
        is: 'wrong',
        found: `BERTH_DATA is ${dataDirectory}, which is a file`,
        advice: 'set BERTH_DATA to a directory',
      },
    ]
  const findings: Finding[] = []
  if (!canWrite(dataDirectory))
    findings.push({
      about,
      is: 'wrong',
      found: `${dataDirectory} cannot be written by this user`,
      advice: `make this user its owner: chown -R ${process.getuid?.() ?? '<user>'} ${dataDirectory}`,
    })
  const store = database.engine === 'sqlite' ? [database.file] : []
  for (const path of [dataDirectory, join(dataDirectory, 'credentials.json'), ...store]) {
    if (!existsSync(path) || (statSync(path).mode & 0o077) === 0) continue
    findings.push({
      about,
      is: path === dataDirectory ? 'worry' : 'wrong',
      found: `${path} can be read by others`,
      advice: `chmod go= ${path}`,
    })
  }
  return findings.length > 0 ? findings : [{ about, is: 'well', found: `${dataDirectory}, for this user only` }]
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

/** Whether the keyring can be read. The database check compares it with the database. */
async function checkKeyring(config: Config): Promise<Finding[]> {
  const about = 'keyring'
  if ('file' in config.keys && !existsSync(config.keys.file)) {
    const found = `${config.keys.file} does not exist`
    const store = await import('./store.ts')
    const proof = await store.withStore(config, (db) => checkKeys(db, config)).catch(() => undefined)
    if (proof === undefined || proof.ids.length === 0)
      return [{ about, is: 'well', found: `${found} yet; the first start creates it` }]
    return [
      {
        about,
        is: 'wrong',
        found,
        advice: 'restore it from your backup of the keyring, or point BERTH_KEYS at it: the database needs it',
      },
    ]
  }
  const ring = openKeyring(config.keys, () => false)
  const { withStore } = await import('./store.ts')
  const proof = await withStore(config, (db) => checkKeys(db, config)).catch(() => undefined)
  const troubles = proof === undefined ? [] : describeKeyProblems(proof)
  if (troubles.length > 0)
    return troubles.map((found) => ({ about, is: 'wrong', found, advice: 'see docs/variables.md, The keyring' }))
  const fits = proof === undefined ? '' : `, and they fit the database (${pluralize(proof.opened, 'value')} decrypted)`
  return [{ about, is: 'well', found: `${ring.place} has ${pluralize(ring.ids().length, 'root key')}${fits}` }]
}

async function checkSpace({ dataDirectory, database }: Config): Promise<Finding[]> {
  const about = 'disk space'
  const { bavail, bsize } = await statfs(nearestFolder(dataDirectory))
  const free = bavail * bsize
  const found = `${Math.floor(free / MIB)} MiB free at ${dataDirectory}`
  if (free < NO_SPACE)
    return [{ about, is: 'wrong', found, advice: 'free disk space: writes fail with 507 when the disk is full' }]
  const size = database.engine === 'sqlite' && existsSync(database.file) ? statSync(database.file).size : 0
  if (free < size)
    return [
      {
        about,
        is: 'worry',
        found,
        advice: `the database has ${Math.ceil(size / MIB)} MiB: a backup on this disk does not fit`,
      },
    ]
  if (free < LITTLE_SPACE) return [{ about, is: 'worry', found, advice: 'free disk space before the disk is full' }]
  return [{ about, is: 'well', found }]
}

/** Queries each resolver separately, because one that is unavailable slows down every lookup. */
async function checkDns({ dnsServers }: Config): Promise<Finding[]> {
  const about = 'DNS'
  const servers = dnsServers ?? [undefined]
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const name = server ?? 'the resolver of the system'
      const answer = await openDns(server === undefined ? undefined : [server]).readA(ASKED_NAME, about)
      if (answer !== undefined) return { about, is: 'well', found: `${name} responds` }
      const advice =
        server === undefined
          ? 'set BERTH_DNS_SERVERS to resolvers that respond'
          : 'remove it from BERTH_DNS_SERVERS, or start it'
      return {
        about,
        is: 'wrong',
        found: `${name} does not respond for ${ASKED_NAME}: no domain can be verified`,
        advice,
      }
    }),
  )
}

async function checkSuffix({ domains }: Config): Promise<Finding[]> {
  if (domains.platformSuffix === undefined) return []
  const about = 'platform suffix'
  const { mustOwnSuffix } = await import('../../model/domain-name.ts')
  try {
    mustOwnSuffix(domains)
  } catch (error) {
    return [{ about, is: 'wrong', found: (error as Error).message, advice: 'the service does not start with it' }]
  }
  return [{ about, is: 'well', found: `names directly under ${domains.platformSuffix} belong to the first claimant` }]
}

async function checkMail({ mail }: Config): Promise<Finding[]> {
  const about = 'mail'
  if (mail.smtp === undefined)
    return [
      {
        about,
        is: 'worry',
        found: `emails are written to ${mail.folder} and not sent`,
        advice: 'set BERTH_SMTP_URL and BERTH_MAIL_FROM',
      },
    ]
  const place = `${mail.smtp.host}:${mail.smtp.port}`
  try {
    await tryMailServer(mail.smtp)
  } catch (error) {
    return [
      {
        about,
        is: 'wrong',
        found: `${place}: ${describeError(error)}`,
        advice: mailAdvice(error),
      },
    ]
  }
  return [{ about, is: 'well', found: `${place} accepts emails from ${mail.from.address}` }]
}

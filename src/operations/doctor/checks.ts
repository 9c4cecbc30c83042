/** The checks of `berth doctor`, in the order in which somebody would mend what they find. */
import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import { mayWrite } from '../../platform/adapters/directory.ts'
import { openDns } from '../../platform/adapters/dns.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { mailAdvice, tryMailServer } from '../../platform/adapters/mailer.ts'
import { pluralize } from '../../platform/base/text.ts'
import { openKeyring } from '../../platform/secrets/keyring.ts'
import { checkKeys, describeKeyProblems } from '../backup/integrity.ts'
import { checkAddress } from './address.ts'
import { checkBackups } from './backups.ts'
import { checkCertificate } from './certificate.ts'
import type { Check, Finding } from './finding.ts'
import { checkKeyringCopy } from './keyring-copy.ts'
import { checkOwnNames } from './own-names.ts'
import { checkOwnPort, checkPortForProxies } from './port.ts'
import { checkServer } from './server.ts'
import { checkFiles, checkSites, checkSuffixNames } from './sites.ts'
import { checkClock, checkDatabase } from './store.ts'

const MIB = 1024 * 1024
/** Below the first, a full disk is near; below the second, it is there for whoever writes a log or a copy. */
const [LITTLE_SPACE, NO_SPACE] = [1024 * MIB, 64 * MIB]
/** Everybody can ask for it; that it is there or not is both an answer. */
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
  mail: checkMail,
}

/** The data folder and what lies in it are for the eyes of the service alone. */
async function checkFolder({ dataDirectory, database }: Config): Promise<Finding[]> {
  const about = 'folder'
  if (!existsSync(dataDirectory)) {
    const above = nearestFolder(dataDirectory)
    if (!mayWrite(above))
      return [
        {
          about,
          is: 'wrong',
          found: `${dataDirectory} is not there and cannot be made in ${above}`,
          advice: 'set BERTH_DATA to a folder that this user may make, or make it for this user',
        },
      ]
    return [{ about, is: 'well', found: `${dataDirectory} is not there yet; the first start makes it` }]
  }
  if (!statSync(dataDirectory).isDirectory())
    return [
      {
        about,
        is: 'wrong',
        found: `BERTH_DATA is ${dataDirectory}, which is a file`,
        advice: 'set BERTH_DATA to a folder',
      },
    ]
  const findings: Finding[] = []
  if (!mayWrite(dataDirectory))
    findings.push({
      about,
      is: 'wrong',
      found: `${dataDirectory} cannot be written by this user`,
      advice: `give it to this user: chown -R ${process.getuid?.() ?? '<user>'} ${dataDirectory}`,
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

/** Whether the ring can be read; whether it fits the store is asked where the store can be. */
async function checkKeyring(config: Config): Promise<Finding[]> {
  const about = 'keyring'
  if ('file' in config.keys && !existsSync(config.keys.file)) {
    const found = `${config.keys.file} is not there`
    const store = await import('./store.ts')
    const proof = await store.withStore(config, (db) => checkKeys(db, config)).catch(() => undefined)
    if (proof === undefined || proof.ids.length === 0)
      return [{ about, is: 'well', found: `${found} yet; the first start makes it` }]
    return [
      {
        about,
        is: 'wrong',
        found,
        advice: 'put it back from your backup of the keyring, or point BERTH_KEYS at it: the store needs it',
      },
    ]
  }
  const ring = openKeyring(config.keys, () => false)
  const { withStore } = await import('./store.ts')
  const proof = await withStore(config, (db) => checkKeys(db, config)).catch(() => undefined)
  const troubles = proof === undefined ? [] : describeKeyProblems(proof)
  if (troubles.length > 0)
    return troubles.map((found) => ({ about, is: 'wrong', found, advice: 'see docs/variables.md, At rest' }))
  const fits = proof === undefined ? '' : `, and they fit the store (${pluralize(proof.opened, 'value')} opened)`
  return [{ about, is: 'well', found: `${ring.place} has ${pluralize(ring.ids().length, 'root key')}${fits}` }]
}

async function checkSpace({ dataDirectory, database }: Config): Promise<Finding[]> {
  const about = 'disk space'
  const { bavail, bsize } = await statfs(nearestFolder(dataDirectory))
  const free = bavail * bsize
  const found = `${Math.floor(free / MIB)} MiB free at ${dataDirectory}`
  if (free < NO_SPACE)
    return [{ about, is: 'wrong', found, advice: 'make room: writes are refused with 507 when the disk is full' }]
  const size = database.engine === 'sqlite' && existsSync(database.file) ? statSync(database.file).size : 0
  if (free < size)
    return [
      {
        about,
        is: 'worry',
        found,
        advice: `the store has ${Math.ceil(size / MIB)} MiB: a backup on this disk does not fit`,
      },
    ]
  if (free < LITTLE_SPACE) return [{ about, is: 'worry', found, advice: 'make room before the disk is full' }]
  return [{ about, is: 'well', found }]
}

/** Each resolver is asked by itself: one that is away makes every look-up slow. */
async function checkDns({ dnsServers }: Config): Promise<Finding[]> {
  const about = 'DNS'
  const servers = dnsServers ?? [undefined]
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const name = server ?? 'the resolver of the system'
      const answer = await openDns(server === undefined ? undefined : [server]).readA(ASKED_NAME, about)
      if (answer !== undefined) return { about, is: 'well', found: `${name} answers` }
      const advice =
        server === undefined
          ? 'set BERTH_DNS_SERVERS to resolvers that do'
          : 'take it out of BERTH_DNS_SERVERS, or start it'
      return {
        about,
        is: 'wrong',
        found: `${name} does not answer for ${ASKED_NAME}: no domain can be verified`,
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
  return [{ about, is: 'well', found: `names right under ${domains.platformSuffix} go to who comes first` }]
}

async function checkMail({ mail }: Config): Promise<Finding[]> {
  const about = 'mail'
  if (mail.smtp === undefined)
    return [
      {
        about,
        is: 'worry',
        found: `letters are written to ${mail.folder} and reach nobody`,
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
  return [{ about, is: 'well', found: `${place} takes letters from ${mail.from.address}` }]
}

/** What `berth doctor` says of what visitors of deployments with files need: the files, a sites server, names that lead to it. docs/deploying-sites.md. */
import { existsSync, statSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { pathOfFile } from '../../delivery/files/folder-store.ts'
import { mayWrite } from '../../platform/adapters/directory.ts'
import { openDns } from '../../platform/adapters/dns.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { pluralize } from '../../platform/base/text.ts'
import type { Queries } from '../../platform/db/db.ts'
import { isBesideSites } from '../../platform/tls/local-certificate.ts'
import type { Finding } from './finding.ts'
import { withStore } from './store.ts'

/** The newest are looked for: where the folder is another one, all are missing. */
const LOOKED_FOR = 100
const TIMEOUT_MS = 2000

/** The folder of files can be written, and holds what deployments name. */
export async function checkFiles(config: Config): Promise<Finding[]> {
  const about = 'files'
  const { to } = config.files
  const files = await withStore(config, newestFiles).catch(() => [])
  const wrong = (found: string): Finding[] => {
    const advice = 'set BERTH_FILES_TO to the folder that has them, mount its disk, or put them back from your backup'
    return [{ about, is: 'wrong', found, advice }]
  }
  if (!existsSync(to)) {
    if (files.length > 0) return wrong(`${to} is not there, and deployments have files`)
    return [{ about, is: 'well', found: `${to} is not there yet; the first start makes it` }]
  }
  if (!statSync(to).isDirectory() || !mayWrite(to))
    return [
      {
        about,
        is: 'wrong',
        found: `${to} is no folder that this user can write: no upload is taken`,
        advice: 'give it to the user of the service, or set BERTH_FILES_TO to another folder',
      },
    ]
  const missing = files.filter(({ account_id, sha256 }) => !existsSync(pathOfFile(to, account_id, sha256))).length
  if (missing > 0) return wrong(`${missing} of the newest ${pluralize(files.length, 'file')} are not in ${to}`)
  const found = files.length === 0 ? `${to}, no deployment has files yet` : `${to} has the newest ${files.length}`
  return [{ about, is: 'well', found }]
}

function newestFiles(db: Queries): Promise<{ account_id: string; sha256: string }[]> {
  const used = db.selectFrom('blob').select(['account_id', 'sha256']).where('refs', '>', 0)
  return used.orderBy('id', 'desc').limit(LOOKED_FOR).execute()
}

/** A sites server answers where proxies are sent, or one that the service of a laptop starts can have its port. */
export async function checkSites(config: Config): Promise<Finding[]> {
  const about = 'sites server'
  const { edge, sites, host } = config
  const isBeside = isBesideSites(config)
  const origin = edge.sitesAddress ?? (isBeside ? `http://${host}:${sites.port}` : undefined)
  if (origin === undefined) return checkNoSites(config)
  const answer = await askSites(origin)
  if (answer === 'sites') return [{ about, is: 'well', found: `one answers at ${origin}` }]
  if (answer === 'other')
    return [
      {
        about,
        is: 'wrong',
        found: `what answers at ${origin} is no sites server`,
        advice: isBeside ? 'end it, or set BERTH_SITES_PORT to another port' : 'set BERTH_SITES_ADDRESS right',
      },
    ]
  if (isBeside) return [{ about, is: 'well', found: `berth serve starts one at ${origin}` }]
  const advice = 'start berth sites there, or set BERTH_SITES_ADDRESS right'
  return [{ about, is: 'wrong', found: `${origin} of BERTH_SITES_ADDRESS: ${answer.fault}`, advice }]
}

/** That nobody shows what was deployed is worth a look once something was. */
async function checkNoSites(config: Config): Promise<Finding[]> {
  const about = 'sites server'
  if (config.edge.sitesToken !== undefined)
    return [{ about, is: 'well', found: 'those that have BERTH_SITES_TOKEN are answered' }]
  if ((await withStore(config, newestFiles).catch(() => [])).length === 0) return []
  return [
    {
      about,
      is: 'worry',
      found: 'deployments have files, and no sites server is set up: their visitors see nothing',
      advice: 'run berth sites with BERTH_SITES_TOKEN, the same here: docs/deploying.md, Sites server',
    },
  ]
}

/** A name that is nobody's: a sites server says so in its own header, or that it cannot ask. */
async function askSites(origin: string): Promise<'sites' | 'other' | { fault: string }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { headers, body } = await fetch(origin, { redirect: 'manual', signal })
    await body?.cancel()
    return headers.has('x-vercel-error') ? 'sites' : 'other'
  } catch (error) {
    return { fault: describeError((error as Error).cause ?? error) }
  }
}

/** Any name under the suffix of the platform leads somewhere: a deployment has a new one. */
export async function checkSuffixNames({ domains, dnsServers }: Config): Promise<Finding[]> {
  const suffix = domains.platformSuffix
  // Browsers take what ends in "localhost" for their own machine (RFC 6761 6.3).
  if (suffix === undefined || `.${suffix}`.endsWith('.localhost')) return []
  const about = 'names of sites'
  const dns = openDns(dnsServers)
  const name = `berth-doctor.${suffix}`
  const answers = await Promise.all([dns.readA(name, about), dns.readAaaa(name, about)])
  if (answers.every((answer) => answer === undefined)) return []
  if (answers.some((answer) => answer !== undefined && answer.length > 0))
    return [{ about, is: 'well', found: `*.${suffix} resolves` }]
  return [
    {
      about,
      is: 'worry',
      found: `${name} does not resolve: the addresses of deployments lead nowhere`,
      advice: `make a DNS record *.${suffix} that leads to your proxy or sites server`,
    },
  ]
}

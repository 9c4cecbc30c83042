/** Files, sites server and domains of deployments in `berth doctor`. docs/deploying-sites.md. */
import { existsSync, statSync } from 'node:fs'
import type { Config } from '../../config.ts'
import { pathOfFile } from '../../delivery/files/folder-store.ts'
import { canWrite } from '../../platform/adapters/directory.ts'
import { openDns } from '../../platform/adapters/dns.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { pluralize } from '../../platform/base/text.ts'
import type { Queries } from '../../platform/db/db.ts'
import { isBesideSites } from '../../platform/tls/local-certificate.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { withStore } from './store.ts'

/** The newest files only: with a wrong directory, all are missing. */
const LOOKED_FOR = 100
const TIMEOUT_MS = 2000

/** Checks that the directory of files is writable and holds the files of deployments. */
export async function checkFiles(config: Config): Promise<Finding[]> {
  const { well, wrong } = findingsAbout('files')
  const { to } = config.files
  const files = await withStore(config, newestFiles).catch(() => [])
  const find = 'set BERTH_FILES_TO to the directory that has them, mount its disk, or restore them from your backup'
  if (!existsSync(to)) {
    if (files.length > 0) return [wrong(`${to} is not there, and deployments have files`, find)]
    return [well(`${to} does not exist yet; the first start creates it`)]
  }
  if (!statSync(to).isDirectory() || !canWrite(to)) {
    const advice = 'make the user of the service its owner, or set BERTH_FILES_TO to another directory'
    return [wrong(`${to} is not a directory that this user can write: uploads fail`, advice)]
  }
  const missing = files.filter(({ account_id, sha256 }) => !existsSync(pathOfFile(to, account_id, sha256))).length
  if (missing > 0) return [wrong(`${missing} of the newest ${pluralize(files.length, 'file')} are not in ${to}`, find)]
  return [well(files.length === 0 ? `${to}, no deployment has files yet` : `${to} has the newest ${files.length}`)]
}

function newestFiles(db: Queries): Promise<{ account_id: string; sha256: string }[]> {
  const used = db.selectFrom('blob').select(['account_id', 'sha256']).where('refs', '>', 0)
  return used.orderBy('id', 'desc').limit(LOOKED_FOR).execute()
}

const sitesServer = findingsAbout('sites server')

/** Checks that a sites server responds, or that the port of the local one is free. */
export async function checkSites(config: Config): Promise<Finding[]> {
  const { well, wrong } = sitesServer
  const { edge, sites, host } = config
  const isBeside = isBesideSites(config)
  const origin = edge.sitesAddress ?? (isBeside ? `http://${host}:${sites.port}` : undefined)
  if (origin === undefined) return checkNoSites(config)
  const answer = await askSites(origin)
  if (answer === 'sites') return [well(`one responds at ${origin}`)]
  if (answer === 'other') {
    const advice = isBeside ? 'end it, or set BERTH_SITES_PORT to another port' : 'correct BERTH_SITES_ADDRESS'
    return [wrong(`the server at ${origin} is not a sites server`, advice)]
  }
  if (isBeside) return [well(`berth serve starts one at ${origin}`)]
  const advice = 'start berth sites there, or correct BERTH_SITES_ADDRESS'
  return [wrong(`${origin} of BERTH_SITES_ADDRESS: ${answer.fault}`, advice)]
}

/** Without a sites server, warns only once something was deployed. */
async function checkNoSites(config: Config): Promise<Finding[]> {
  const { well, worry } = sitesServer
  if (config.edge.sitesToken !== undefined) return [well('those with BERTH_SITES_TOKEN are served')]
  if ((await withStore(config, newestFiles).catch(() => [])).length === 0) return []
  const found = 'deployments have files, and no sites server is set up: their visitors see nothing'
  return [worry(found, 'run berth sites with BERTH_SITES_TOKEN, the same here: docs/deploying.md, Sites server')]
}

/** Requests an unassigned name: a sites server identifies itself in a header, or reports that it cannot resolve. */
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

/** Checks that a random name under the suffix resolves, because every deployment gets a new one. */
export async function checkSuffixNames({ domains, dnsServers }: Config): Promise<Finding[]> {
  const suffix = domains.platformSuffix
  // Browsers resolve names under "localhost" to their own machine (RFC 6761 6.3).
  if (suffix === undefined || `.${suffix}`.endsWith('.localhost')) return []
  const about = 'names of sites'
  const { well, worry } = findingsAbout(about)
  const dns = openDns(dnsServers)
  const name = `berth-doctor.${suffix}`
  const answers = await Promise.all([dns.readA(name, about), dns.readAaaa(name, about)])
  if (answers.every((answer) => answer === undefined)) return []
  if (answers.some((answer) => answer !== undefined && answer.length > 0)) return [well(`*.${suffix} resolves`)]
  const advice = `create a DNS record *.${suffix} that points to your proxy or sites server`
  return [worry(`${name} does not resolve: the URLs of deployments do not work`, advice)]
}

/** Starts the service, says where it is, and stops it in order. */
import { join, relative } from 'node:path'
import type { Logger } from 'pino'
import { oneLine, print } from './cli/command-line/print.ts'
import type { Config } from './config.ts'
import { exitWithError, openLog } from './platform/base/log.ts'
import { endAtSignals } from './platform/server/graceful-shutdown.ts'
import { listenToClients, listenToProxies, PortInUse } from './platform/server/listen.ts'
import { boundOrigin, openService, type Service, type StoreOptions } from './service.ts'
import { type SitesProcess, startSitesProcess, withSitesProcess } from './sites-process.ts'
import { untilThere } from './start-wait.ts'

/** How long requests that are already on their way are still taken. */
const GRACE_MS = 300

/** Starts the service, and returns once it listens. `env`: of this process, for the sites server that a laptop has beside it. It waits for a database and an address that may come later. The process ends at SIGTERM and SIGINT with 0. Throws BadSetting, and Error where a port or the store is taken. */
export async function start(given: Config, env: NodeJS.ProcessEnv, store: StoreOptions = {}): Promise<void> {
  const withSites = withSitesProcess(given)
  const config = withSites ?? given
  process.umask(0o077)
  const log = await openLog(config.logLevel)
  // What a fault of our own left half done is unknown: whoever started this process starts another.
  process.on('uncaughtException', (error) =>
    exitWithError(log, error, 'a fault that nobody expected; the process ends'),
  )
  const onDiskFault = (error: unknown) =>
    exitWithError(
      log,
      error,
      'the disk failed to keep a commit; stopping, so that the store is recovered on the next start',
    )
  // Before it waits for anything, and before anyone can know that the service is there, it knows how to stop.
  let opened: Service | undefined
  let sites: SitesProcess | undefined
  endAtSignals(log, async () => void (await Promise.all([sites?.stop(), opened?.close(GRACE_MS)])))
  const waits = { seconds: config.startWaitSeconds, log }
  const service = await openService(config, log, onDiskFault, { waits, ...store }).catch(async (error) => {
    if (config.database.engine !== 'sqlite') throw error
    throw (await import('./platform/db/sqlite/store-errors.ts')).explainStoreError(error, config.database.file)
  })
  opened = service
  await untilThere(`the address of HOST, ${config.host}`, waits, () => listenToClients(service.app, config))
  const edge = await listenAtEdge(service, config, log)
  greet(service, config, edge)
  if (withSites !== undefined && edge?.url !== undefined) sites = startSitesProcess(config, edge.url, env, log)
}

/** Where proxies may ask; `url` undefined: nowhere. */
type EdgePlace = { url: string | undefined; line: string }

/**
 * Gives where proxies may ask, as the greeting says it. A port that somebody chose must be free; where the one that nobody
 * chose is taken (a second Berth on the machine), the API runs without.
 */
async function listenAtEdge(service: Service, { host, edge }: Config, log: Logger): Promise<EdgePlace | undefined> {
  const opened = await service.openEdge()
  if (opened === undefined) return undefined
  try {
    const url = await listenToProxies(opened, { host, port: edge.port! })
    return { url, line: `Proxies ask ${url} (docs/edge.md)` }
  } catch (error) {
    if (edge.chosen || !(error instanceof PortInUse)) throw error
    log.warn(error.message)
    return { url: undefined, line: `No proxy can ask: ${error.message}` }
  }
}

function greet({ app, credentials, firstStart }: Service, config: Config, edge: EdgePlace | undefined): void {
  const url = boundOrigin(app)
  const file = relative(process.cwd(), join(config.dataDirectory, 'credentials.json'))
  const { token } = credentials
  // Where no person reads, a log collector does: a token has no place there.
  const isShown = firstStart && process.stdout.isTTY === true
  const tokenText = isShown ? token : token && `$(sed -n 's/.*"token": "\\(.*\\)".*/\\1/p' ${quoted(file)})`
  const lines = [
    `berth listening on ${url}`,
    ...(edge === undefined ? [] : [edge.line]),
    '',
    ...(isShown ? firstLines(credentials, config, file) : [laterLine(credentials, config, file, firstStart)]),
    ...welcomeLines(credentials, config.publicUrl ?? url, firstStart, isShown),
    '',
    'Create a project:',
    `  curl -X POST ${url}/v10/projects -H "Authorization: Bearer ${tokenText ?? '$TOKEN'}" -H 'Content-Type: application/json' -d '{"name":"hello"}'`,
    `Every operation: ${url}/docs`,
    '',
    ...warningLines(config),
  ]
  print(process.stdout, `${lines.join('\n')}\n`)
}

/** Each variable that begins with BERTH_ and is no setting, at the end, where a person looks last. An orchestrator may have named it. */
function warningLines({ unknownSettings }: Config): string[] {
  return unknownSettings.length === 0 ? [] : [...unknownSettings.map((sentence) => `warning: ${oneLine(sentence)}`), '']
}

function laterLine({ token }: Service['credentials'], config: Config, file: string, firstStart: boolean): string {
  if (token === undefined)
    return 'This store was first started with another data folder: make a token with POST /operator/v1/tokens'
  const firstRows = firstStart ? 'First start: a user (admin), a team (team) and a token were made. ' : ''
  return `${firstRows}The first token${config.operatorToken ? ' is' : ' and the operator token are'} in ${file}`
}

/** The link by which the first person sets their password. Its secret is for a terminal alone, as the first token is. */
function welcomeLines({ welcome }: Service['credentials'], origin: string | undefined, first: boolean, shown: boolean) {
  if (!first) return []
  return shown
    ? ['', 'Open this link once to set your password:', `  ${origin}${welcome}`]
    : ['berth welcome prints the link by which you set your password']
}

/** For a shell, as one word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/** An operator token from the settings is known to who set it: it is neither printed nor kept. */
function firstLines(credentials: Service['credentials'], config: Config, file: string): string[] {
  return [
    `First start. These were made and are kept in ${file}:`,
    `  user            ${credentials.userId} (admin)`,
    `  team            ${credentials.teamId} (team)`,
    `  token           ${credentials.token}`,
    ...(config.operatorToken === undefined ? [`  operator token  ${credentials.operatorToken}`] : []),
  ]
}

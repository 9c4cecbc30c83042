import { join, relative } from 'node:path'
import type { Logger } from 'pino'
import { oneLine, print } from '../cli/command-line/print.ts'
import type { Config } from '../config.ts'
import { openedHost, suffixOf } from '../model/addresses.ts'
import { SHARED_DOMAIN_ADVICE, sharedDomainProblem } from '../model/domain-name.ts'
import { exitWithError, openLog } from '../platform/base/log.ts'
import { endAtSignals } from '../platform/server/graceful-shutdown.ts'
import { listenToClients, listenToProxies, PortInUse } from '../platform/server/listen.ts'
import { tryBuilds } from '../runner/open-runner.ts'
import { boundOrigin, openService, type Service, type StoreOptions } from '../service.ts'
import { untilThere } from '../start-wait.ts'
import { type Builds, decideBuilds, startRunnerProcess } from './runner-process.ts'
import { startSitesProcess, withSitesProcess } from './sites-process.ts'
import { decideFunctions } from './start-functions.ts'
import type { RunningProgram } from './supervise.ts'

/** How long requests in transit are still accepted. */
const GRACE_MS = 300

/**
 * Starts the service, and returns once it listens. It waits for a late database or address. `env`: of this process, for the sites server of a laptop.
 * SIGTERM and SIGINT end the process with 0. Throws BadSetting, and Error where a port or the database is in use.
 */
export async function start(given: Config, env: NodeJS.ProcessEnv, store: StoreOptions = {}): Promise<void> {
  const withSites = withSitesProcess(given)
  process.umask(0o077)
  const builds = await decideBuilds(withSites ?? given)
  const tries = async () => builds.trial ?? (await tryBuilds(builds.config.runner))
  const functions = await decideFunctions(builds.config, withSites !== undefined, tries)
  const { config } = functions
  const log = await openLog(config.logLevel)
  // After a bug the state is unknown, so the supervisor must start a new process.
  process.on('uncaughtException', (error) => exitWithError(log, error, 'unexpected error; the process ends'))
  const onDiskError = (error: unknown) =>
    exitWithError(
      log,
      error,
      'the disk failed to keep a commit; stopping, so that the store is recovered on the next start',
    )
  // Handles signals before the first wait, and before the service is visible.
  let opened: Service | undefined
  const beside: RunningProgram[] = []
  endAtSignals(
    log,
    async () => void (await Promise.all([...beside.map((service) => service.stop()), opened?.close(GRACE_MS)])),
  )
  const waits = { seconds: config.startWaitSeconds, log }
  const service = await openService(config, log, onDiskError, { waits, ...store }).catch(async (error) => {
    if (config.database.engine !== 'sqlite') throw error
    throw (await import('../platform/db/sqlite/store-errors.ts')).explainStoreError(error, config.database.file)
  })
  opened = service
  await untilThere(`the address of HOST, ${config.host}`, waits, () => listenToClients(service.app, config))
  const edge = await listenAtEdge(service, config, log)
  const isShown = withSites !== undefined && edge?.url !== undefined
  const sites = isShown ? siteLines(config) : []
  const places = [...(edge === undefined ? [] : [edge.line]), ...sites]
  greet(service, config, [...places, lineOfBuilds(builds, config, edge?.url), functions.line], programOf(env))
  if (edge?.url === undefined) return
  if (withSites !== undefined) beside.push(startSitesProcess(config, edge.url, env, log))
  if (builds.isBeside) beside.push(startRunnerProcess(config, edge.url, env, log))
}

/** The address for proxies; `url` undefined: none. */
type EdgePlace = { url: string | undefined; line: string }

/**
 * Returns the address for proxies, for the greeting. A configured port must be free; where the default one is in use (a second Berth on the machine),
 * the API runs without.
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

/** Without the address for proxies, which a runner of this machine uses, nothing is built: a source is refused then. */
function lineOfBuilds({ isBeside, line }: Builds, { builds }: Config, edge: string | undefined): string {
  if (edge !== undefined || !isBeside) return line
  builds.mode = 'off'
  return 'Builds are off: a runner of this machine uses the port for proxies (BERTH_EDGE_PORT)'
}

/** None with a port that the system chooses: the sites server prints it. */
function siteLines(config: Config): string[] {
  return config.sites.port === 0 ? [] : [`Sites are at http://${openedHost(`*.${suffixOf(config.domains)}`, config)}`]
}

/** How a user of this process runs a command. In a clone, `berth` is not on the path. */
function programOf({ npm_lifecycle_event }: NodeJS.ProcessEnv): string {
  return npm_lifecycle_event === 'start' ? 'npx berth' : 'berth'
}

function greet(
  { app, credentials, firstStart }: Service,
  config: Config,
  places: readonly string[],
  program: string,
): void {
  const url = boundOrigin(app)
  const file = relative(process.cwd(), join(config.dataDirectory, 'credentials.json'))
  const { token } = credentials
  // Without a terminal the output goes to a log collector, which must not get a token.
  const isShown = firstStart && process.stdout.isTTY === true
  const tokenText = isShown ? token : token && `$(sed -n 's/.*"token": "\\(.*\\)".*/\\1/p' ${quoted(file)})`
  const lines = [
    `berth listening on ${url}`,
    ...places,
    '',
    ...(isShown ? firstLines(credentials, config, file) : [laterLine(credentials, config, file, firstStart)]),
    ...(firstStart ? welcomeLines(credentials, config.publicUrl ?? url, isShown, program) : []),
    '',
    'Create a project:',
    `  curl -X POST ${url}/v10/projects -H "Authorization: Bearer ${tokenText ?? '$TOKEN'}" -H 'Content-Type: application/json' -d '{"name":"hello"}'`,
    `Every operation: ${url}/docs`,
    `To deploy with the vercel command line, run: ${program} link-cli${firstStart ? ' --team team' : ''}`,
    '',
    ...warningLines(config),
  ]
  print(process.stdout, `${lines.join('\n')}\n`)
}

/** Unknown BERTH_ variables, and a suffix of sites that is too near, at the end, where a user looks last. An orchestrator may have set the former. */
function warningLines(config: Config): string[] {
  const shared = sharedDomainProblem(config)
  const warnings = [...config.unknownSettings, ...(shared === undefined ? [] : [`${shared}; ${SHARED_DOMAIN_ADVICE}`])]
  return warnings.length === 0 ? [] : [...warnings.map((sentence) => `warning: ${oneLine(sentence)}`), '']
}

function laterLine({ token }: Service['credentials'], config: Config, file: string, firstStart: boolean): string {
  if (token === undefined)
    return 'This store was first started with another data folder: make a token with POST /operator/v1/tokens'
  const firstRows = firstStart ? 'First start: a user (admin), a team (team) and a token were made. ' : ''
  return `${firstRows}The first token${config.operatorToken ? ' is' : ' and the operator token are'} in ${file}`
}

/** The link with which the first user sets a password. It is a secret, so only a terminal shows it. */
function welcomeLines(
  { welcome }: Service['credentials'],
  origin: string | undefined,
  shown: boolean,
  program: string,
): string[] {
  return shown
    ? ['', 'Open this link once to set your password:', `  ${origin}${welcome}`]
    : [`To set your password, run: ${program} welcome`]
}

/** Quotes a path as one shell word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/** An operator token from the settings is neither printed nor stored. */
function firstLines(credentials: Service['credentials'], config: Config, file: string): string[] {
  return [
    `First start. These were made and are kept in ${file}:`,
    `  user            ${credentials.userId} (admin)`,
    `  team            ${credentials.teamId} (team)`,
    `  token           ${credentials.token}`,
    ...(config.operatorToken === undefined ? [`  operator token  ${credentials.operatorToken}`] : []),
  ]
}

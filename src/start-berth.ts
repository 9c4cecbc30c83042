/** Berth within another process: the export of the npm package. docs/testing-your-integration.md. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { BadSetting, type Config, readConfig } from './config.ts'
import type { Berth, BerthOptions } from './package-types.ts'
import { logOptions } from './platform/base/log.ts'
import { trackConnections } from './platform/server/graceful-shutdown.ts'
import { listenToClients, listenToProxies } from './platform/server/listen.ts'
import { boundOrigin, openService, type Service } from './service.ts'

const HOST = '127.0.0.1'
/** The maximum delay of a stop after its grace, by running requests and slow clients. */
const MAX_STOP_MS = 2000
/** The maximum delay of a Node timer. */
const MAX_GRACE_MS = 2 ** 31 - 1
/** The description and check of each option. */
type Rules<T> = { [K in keyof Required<T>]: [words: string, holds: (value: unknown) => boolean] }
const OPTIONS: Rules<BerthOptions> = {
  port: ['a whole number from 0 to 65535', (value) => isWhole(value, 65_535)],
  dataFolder: ['the path of a folder', isText],
  logLevel: ['a level, such as `info`', isText],
  settings: ['an object of settings by their names', (value) => typeof value === 'object' && value !== null],
}
const STOP_OPTIONS: Rules<{ graceMs?: number }> = {
  graceMs: [`a whole number of milliseconds from 0 to ${MAX_GRACE_MS}`, (value) => isWhole(value, MAX_GRACE_MS)],
}

/** Test defaults that differ from a service. */
const FOR_TESTS = { BERTH_RATE_LIMITS: 'off', BERTH_ALLOW_PRIVATE_WEBHOOKS: '1', BERTH_EDGE_PORT: 'off' }

/** Starts Berth (StartBerth of package-types.ts). */
export async function startBerth(options: BerthOptions = {}): Promise<Berth> {
  mustBeOptions('startBerth', OPTIONS, options)
  const { dataFolder = newFolder() } = options
  const remove = () => {
    if (options.dataFolder === undefined) rmSync(dataFolder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    const config = configOf(options, dataFolder)
    const service = await openService(config, pino(logOptions(config.logLevel)), endProcess)
    return await listen(service, config, remove)
  } catch (error) {
    remove()
    throw error
  }
}

/** Throws a TypeError that names an unknown or invalid option: a misspelled one would otherwise be ignored. */
function mustBeOptions<T extends object>(of: string, rules: Rules<T>, values: T): void {
  for (const [name, value] of Object.entries(values)) {
    if (!Object.hasOwn(rules, name))
      throw new TypeError(`${of} has no option "${name}"; it has ${Object.keys(rules).join(', ')}`)
    const [words, holds] = rules[name as keyof T]
    if (value !== undefined && !holds(value)) throw new TypeError(`${of}: the option "${name}" must be ${words}`)
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isWhole(value: unknown, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max
}

/** A private directory for one database. */
function newFolder(): string {
  const directory = join(tmpdir(), `berth-${randomUUID()}`)
  mkdirSync(directory, { mode: 0o700 })
  return directory
}

function configOf({ port = 0, logLevel = 'silent', settings = {} }: BerthOptions, dataFolder: string): Config {
  const own = { BERTH_DATA: dataFolder, PORT: String(port), HOST, BERTH_LOG_LEVEL: logLevel }
  const config = readConfig({ ...FOR_TESTS, ...settings, ...own })
  if (config.unknownSettings.length > 0) throw new BadSetting(config.unknownSettings.join('; '))
  return config
}

async function listen(service: Service, { edge, port }: Config, remove: () => void): Promise<Berth> {
  const { app, credentials } = service
  let stopped: Promise<void> | undefined
  const connections = trackConnections(app.server)
  const stop = async (options: { graceMs?: number } = {}) => {
    mustBeOptions('stop', STOP_OPTIONS, options)
    stopped ??= close(service, options.graceMs ?? 0, connections).finally(remove)
    await stopped
  }
  try {
    await listenToClients(app, { host: HOST, port })
    const proxies = await service.openEdge()
    const edgeUrl = proxies && (await listenToProxies(proxies, { host: HOST, port: edge.port! }))
    const { operatorToken, token, userId, teamId } = credentials
    return { url: boundOrigin(app)!, edgeUrl, operatorToken, token, userId, teamId, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A test does not wait for clients: incomplete requests end after the grace, and all others after a while. */
async function close(
  service: Service,
  graceMs: number,
  { endUnread }: ReturnType<typeof trackConnections>,
): Promise<void> {
  let last: NodeJS.Timeout | undefined
  await service.close(graceMs, () => {
    endUnread()
    last = setTimeout(() => service.app.server.closeAllConnections(), MAX_STOP_MS)
  })
  clearTimeout(last)
}

/** After a failed commit the disk content is unknown, so the process must end. */
function endProcess(error: unknown): never {
  throw error
}

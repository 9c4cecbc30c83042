/** Berth within a process of somebody else: what the npm package exports. docs/testing-your-integration.md. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { BadSetting, type Config, readConfig } from './config.ts'
import { logOptions } from './log.ts'
import type { Berth, BerthOptions } from './package-types.ts'
import { watchConnections } from './server/graceful-shutdown.ts'
import { boundOrigin, openService, type Service } from './service.ts'

const HOST = '127.0.0.1'
/** The most that requests in work, and answers that a client does not take, may hold up a stop after its grace. */
const LONGEST_STOP_MS = 2000
/** What tests want, and a service does not. */
const FOR_TESTS = { BERTH_RATE_LIMITS: 'off', BERTH_ALLOW_PRIVATE_WEBHOOKS: '1', BERTH_EDGE_PORT: 'off' }

/** Starts Berth, as StartBerth of package-types.ts says. */
export async function startBerth(options: BerthOptions = {}): Promise<Berth> {
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

/** A folder for one store, which nobody else reads. */
function newFolder(): string {
  const folder = join(tmpdir(), `berth-${randomUUID()}`)
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

function configOf({ port = 0, logLevel = 'silent', settings = {} }: BerthOptions, dataFolder: string): Config {
  const own = { BERTH_DATA: dataFolder, PORT: String(port), HOST, BERTH_LOG_LEVEL: logLevel }
  const config = readConfig({ ...FOR_TESTS, ...settings, ...own })
  if (config.unknown.length > 0) throw new BadSetting(config.unknown.join('; '))
  return config
}

async function listen(service: Service, { edge, port }: Config, remove: () => void): Promise<Berth> {
  const { app, credentials } = service
  let stopped: Promise<void> | undefined
  const connections = watchConnections(app.server)
  const stop = ({ graceMs = 0 } = {}) => {
    stopped ??= close(service, graceMs, connections).finally(remove)
    return stopped
  }
  try {
    await app.listen({ host: HOST, port })
    const proxies = await service.openEdge()
    const edgeUrl = await proxies?.listen(HOST, edge.port!)
    const { operatorToken, token, userId, teamId } = credentials
    return { url: boundOrigin(app)!, edgeUrl, operatorToken, token, userId, teamId, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A test waits for no client: what has not arrived whole is ended after the grace, and everything after a while. */
async function close(
  service: Service,
  graceMs: number,
  { endUnread }: ReturnType<typeof watchConnections>,
): Promise<void> {
  let last: NodeJS.Timeout | undefined
  await service.close(graceMs, () => {
    endUnread()
    last = setTimeout(() => service.app.server.closeAllConnections(), LONGEST_STOP_MS)
  })
  clearTimeout(last)
}

/** What a failed commit left on the disk is unknown, so nothing may go on. */
function endProcess(error: unknown): never {
  throw error
}

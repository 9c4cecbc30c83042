/** `berth sites`: the sites server as a process of its own. docs/deploying-sites.md: Sites server. */
import { print } from '../cli/command-line/print.ts'
import { BadSetting, type Config } from '../config.ts'
import { exitWithError, openLog } from '../platform/base/log.ts'
import { endAtSignals } from '../platform/server/graceful-shutdown.ts'
import { listenToVisitors } from '../platform/server/listen.ts'
import { openSitesServer } from '../sites/visitors/sites-server.ts'
import { untilThere } from '../start-wait.ts'
import { siteOptions } from './start-functions.ts'
import { endWithParent } from './supervise.ts'

/** How long requests in transit are still accepted. */
const GRACE_MS = 300

/** Runs the sites server. Returns once it listens. It ends at a signal, or with the process that started it over a channel. Throws BadSetting. */
export async function startSites(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  const { port } = config.sites
  if (port === undefined) throw new BadSetting('BERTH_SITES_PORT must be a port for berth sites, not "off"')
  process.umask(0o077)
  const log = await openLog(config.logLevel)
  process.on('uncaughtException', (error) => exitWithError(log, error, 'unexpected error; the process ends'))
  const server = await openSitesServer({ config, log }, await siteOptions(config, env, log))
  const stop = endAtSignals(log, () => server.close(GRACE_MS))
  endWithParent(() => stop('the service has ended'))
  const waits = { seconds: config.startWaitSeconds, log }
  const listen = () => listenToVisitors(server, { host: config.host, port })
  const url = await untilThere(`the address of HOST, ${config.host}`, waits, listen).catch(async (error) => {
    await server.close()
    throw error
  })
  print(process.stdout, `berth sites listening on ${url}\n`)
}

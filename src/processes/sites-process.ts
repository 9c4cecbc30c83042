/** The sites server of a laptop: a process that the service starts, and that ends with it. docs/deploying-sites.md: Local use. */
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { randomText } from '../platform/base/ids.ts'
import { isBesideSites } from '../platform/tls/local-certificate.ts'
import { type RunningProgram, superviseProgram } from './supervise.ts'

/** Returns the configuration with an in-memory token, where the service starts its own sites server. */
export function withSitesProcess(config: Config): Config | undefined {
  if (!isBesideSites(config)) return undefined
  return { ...config, edge: { ...config.edge, sitesToken: randomText(43) } }
}

/** Keeps a sites server running for the control plane at `controlPlane`. `env`: of this process. */
export function startSitesProcess(
  config: Config,
  controlPlane: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): RunningProgram {
  const own = {
    BERTH_SITES_TOKEN: config.edge.sitesToken,
    BERTH_SITES_CONTROL_PLANE: controlPlane,
    BERTH_FUNCTIONS: config.functions.mode,
  }
  return superviseProgram({ command: 'sites', name: 'the sites server', without: 'no site is shown' }, env, own, log)
}

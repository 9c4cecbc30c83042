/** A control plane and a sites server, as an operator runs them. */
import { join } from 'node:path'
import { type Server, startServer, stopServer, type Target, wordsOfStart } from '../children.ts'
import { type Bench, startService } from '../measure.ts'

const TOKEN = 'token-of-the-bench-for-sites-servers'

/** A control plane and a sites server over its store, each a process of its own. */
export type Plane = { service: Target; sites: Server; stop(): Promise<void> }

/** Starts both. `folder`: what they keep; `own`: further settings of both. */
export async function startPlane(bench: Bench, folder: string, own: NodeJS.ProcessEnv = {}): Promise<Plane> {
  const service = await startService('bin/berth.mjs', { ...planeSettings(bench, folder), ...own })
  if (service.edge === undefined) throw new Error('the service did not say where sites servers ask')
  const env = {
    ...bench.env,
    BERTH_DATA: join(folder, 'sites'),
    BERTH_SITES_TOKEN: TOKEN,
    BERTH_SITES_CONTROL_PLANE: service.edge,
    BERTH_SITES_PORT: '0',
    BERTH_TRUSTED_PROXIES: '127.0.0.1',
    // A line of each request.
    BERTH_LOG_LEVEL: 'debug',
    ...own,
  }
  const sites = await startServer('bin/berth.mjs', env, { words: { ...wordsOfStart(), parameters: ['sites'] } })
  return {
    service,
    sites,
    async stop() {
      await stopServer(sites)
      await stopServer(service)
    },
  }
}

/** What the service of a plane starts with. */
export function planeSettings({ env }: Bench, folder: string): NodeJS.ProcessEnv {
  return { ...env, BERTH_DATA: join(folder, 'service'), BERTH_EDGE_PORT: '0', BERTH_SITES_TOKEN: TOKEN }
}

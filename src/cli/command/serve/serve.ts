/** `berth serve` with arguments (main.ts starts the plain one), `berth sites`, `berth runner`, and the readiness check `berth ready`. */

import { listenOrigin } from '../../../config.ts'
import { createTrustedFetch } from '../../../operations/doctor/network/trusted-fetch.ts'
import type { CommandResult, Invocation } from '../../command-line/command.ts'

const TIMEOUT_MS = 5000

/** `berth serve`: returns once the service listens; a signal ends it. Throws BadSetting. */
export async function serveCommand({ settings, env }: Invocation): Promise<undefined> {
  const config = settings()
  await (await import('../../../processes/start.ts')).start(config, env)
}

/** `berth sites`: returns once the sites server listens; a signal ends it. Throws BadSetting. */
export async function sitesCommand({ settings, env }: Invocation): Promise<undefined> {
  const config = settings()
  await (await import('../../../processes/start-sites.ts')).startSites(config, env)
}

/** `berth runner`: returns once the runner requests builds; a signal ends it. Throws BadSetting. */
export async function runnerCommand({ settings, env }: Invocation): Promise<undefined> {
  const config = settings()
  await (await import('../../../processes/start-runner.ts')).startRunner(config, env)
}

/** Queries /readyz of the local service. Exits with 1 when it is not ready, or does not respond within 5 s. */
export async function readyCommand({ settings }: Invocation): Promise<CommandResult> {
  const config = settings()
  const address = `${listenOrigin(config)}/readyz`
  const fetch = await createTrustedFetch(config)
  let text: string
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    text = await answer.text()
  } catch (error) {
    throw new Error(`no answer from ${address}: start the service, or set HOST and PORT as it has them`, {
      cause: error,
    })
  }
  const { ready, failing } = readinessIn(text, address)
  const line = ready ? 'ready' : `not ready: ${failing.join(', ')}; docs/operations.md: Health`
  return { data: { ready, failing }, text: line, code: ready ? 0 : 1 }
}

/** Throws for the answer of another program. */
function readinessIn(text: string, address: string): { ready: boolean; failing: string[] } {
  try {
    const { ready, failing } = JSON.parse(text) as { ready?: unknown; failing?: unknown }
    if (typeof ready === 'boolean' && Array.isArray(failing)) return { ready, failing: failing.map(String) }
  } catch {
    // Not JSON.
  }
  throw new Error(`what answers at ${address} is not Berth: set HOST and PORT as the service has them`)
}

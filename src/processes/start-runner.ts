/** `berth runner`: builds as a process of its own. docs/runner.md. */
import type { Logger } from 'pino'
import { print } from '../cli/command-line/print.ts'
import { BadSetting, type Config } from '../config.ts'
import { exitWithError, openLog } from '../platform/base/log.ts'
import { openControlPlane } from '../runner/lease/control-plane.ts'
import { openRunner, tryBuilds } from '../runner/open-runner.ts'
import { pollForBuilds } from '../runner/poll.ts'
import { endWithParent } from './supervise.ts'

/** How long ended builds may take to stop. */
const END_MS = 7000

/**
 * Runs a runner. Returns once it requests builds. A first signal lets running builds end, a second one or the end of the process that started it ends
 * them. Throws BadSetting, and Error where no sandbox starts.
 */
export async function startRunner(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  const { builds, runner } = config
  const mode = runner.mode ?? 'sandboxed'
  if (mode === 'off') throw new BadSetting('BERTH_BUILDS must be sandboxed or trusted for berth runner, not "off"')
  const { runnerToken } = builds
  if (runnerToken === undefined)
    throw new BadSetting('BERTH_RUNNER_TOKEN must be set for berth runner, to the same as at the control plane')
  process.umask(0o077)
  const log = await openLog(config.logLevel)
  process.on('uncaughtException', (error) => exitWithError(log, error, 'unexpected error; the process ends'))
  const stops = openStops(log)
  if (mode === 'sandboxed') await mustSandbox(runner)
  const tools = await openRunner(runner, mode, env, log)
  const controlPlane = openControlPlane(runner.url, runnerToken)
  print(process.stdout, `berth runner builds for ${runner.url}: ${mode}, ${runner.builds} at once\n`)
  tools.toolchain.installAhead(stops.draining)
  pollForBuilds({ controlPlane, tools, builds: runner.builds, log, ...stops })
    .then(() => controlPlane.close())
    .then(
      () => process.exit(0),
      (error) => exitWithError(log, error, 'could not stop in order'),
    )
}

async function mustSandbox(settings: Config['runner']): Promise<void> {
  const trial = await tryBuilds(settings)
  if (!trial.works) throw new Error(`builds need a sandbox, and ${trial.sentence} (docs/sandbox.md)`)
}

type Stops = { draining: AbortSignal; ending: AbortSignal }

function openStops(log: Logger): Stops {
  const draining = new AbortController()
  const ending = new AbortController()
  const end = (reason: string) => {
    if (ending.signal.aborted) return
    log.info({ reason }, 'ending running builds')
    setTimeout(() => process.exit(0), END_MS).unref()
    draining.abort()
    ending.abort()
  }
  const stop = (signal: string) => {
    if (draining.signal.aborted) return end(signal)
    log.info({ signal }, 'waiting for running builds; a second signal ends them')
    draining.abort()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  endWithParent(() => end('the service has ended'))
  return { draining: draining.signal, ending: ending.signal }
}

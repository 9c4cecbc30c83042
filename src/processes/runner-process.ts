/** The runner of a laptop: a process that the service starts, and that ends with it. docs/runner.md: Local use. */
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { randomText } from '../platform/base/ids.ts'
import { localNames } from '../platform/tls/local-certificate.ts'
import { tryBuilds } from '../runner/open-runner.ts'
import type { Trial } from '../sandbox/trial.ts'
import { type RunningProgram, superviseProgram } from './supervise.ts'

/** How this service builds. `line`: for its greeting. `isBeside`: it starts a runner of its own. `trial`: of a sandbox, if one was tried. */
export type Builds = { config: Config; line: string; isBeside: boolean; trial?: Trial }

/**
 * Decides how the service builds. Without BERTH_BUILDS a laptop builds where a sandbox starts. A runner that the service starts has an in-memory token; with
 * BERTH_RUNNER_TOKEN runners are separate.
 */
export async function decideBuilds(config: Config): Promise<Builds> {
  const isLaptop = config.edge.port !== undefined && localNames(config) !== undefined
  const { mode } = config.runner
  const isBeside = isLaptop && config.builds.runnerToken === undefined && mode !== 'off'
  if (!isBeside) return { config, line: lineOf(config.builds.mode), isBeside }
  const trial = mode === 'trusted' ? { works: true as const, unlimited: undefined } : await tryBuilds(config.runner)
  if (!trial.works && mode === undefined)
    return { config: withMode(config, 'off'), line: `Builds are off: ${trial.sentence}`, isBeside: false, trial }
  const decided = mode ?? 'sandboxed'
  const line = trial.works ? lineOf(decided) : `Builds wait for a sandbox: ${trial.sentence}`
  const builds = { ...config.builds, mode: decided, runnerToken: randomText(43) }
  const tried = mode === 'trusted' ? {} : { trial }
  return { config: { ...config, builds }, line, isBeside, ...tried }
}

function withMode(config: Config, mode: Config['builds']['mode']): Config {
  return { ...config, builds: { ...config.builds, mode } }
}

/** TABLE mode → line of the greeting. */
const LINES: Readonly<Record<Config['builds']['mode'], string>> = {
  sandboxed: 'Builds run in sandboxes',
  trusted: 'Builds run as plain processes of this user: BERTH_BUILDS is trusted',
  off: 'Builds are off: set BERTH_BUILDS to build deployments from source (docs/runner.md)',
}

function lineOf(mode: Config['builds']['mode']): string {
  return LINES[mode]
}

/** Keeps a runner running for the control plane at `controlPlane`. `env`: of this process. */
export function startRunnerProcess(
  { builds }: Config,
  controlPlane: string,
  env: NodeJS.ProcessEnv,
  log: Logger,
): RunningProgram {
  const own = { BERTH_BUILDS: builds.mode, BERTH_RUNNER_TOKEN: builds.runnerToken, BERTH_RUNNER_URL: controlPlane }
  return superviseProgram({ command: 'runner', name: 'the runner', without: 'nothing is built' }, env, own, log)
}

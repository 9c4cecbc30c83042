/** How functions of deployments run here. docs/functions.md. */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { runsFunctions } from '../platform/settings/functions.ts'
import { openToolchain } from '../runner/toolchain/toolchain.ts'
import { chooseNode, NODE_UNITS } from '../runner/toolchain/units.ts'
import { runAsOf } from '../sandbox/run-as.ts'
import type { Trial } from '../sandbox/trial.ts'
import type { FunctionOptions } from '../sites/functions/runtime.ts'

/** How this service runs functions. `line`: for its greeting. */
export type FunctionsChoice = { config: Config; line: string }

/** Decides how functions run. Without BERTH_FUNCTIONS a laptop runs them where a sandbox starts. `tries`: starts one, if that was not tried. */
export async function decideFunctions(
  config: Config,
  isLaptop: boolean,
  tries: () => Promise<Trial>,
): Promise<FunctionsChoice> {
  const { mode } = config.functions
  if (mode !== undefined || !isLaptop) return { config, line: LINES[mode ?? 'off'] }
  const trial = await tries()
  const decided = trial.works ? 'sandboxed' : 'off'
  const line = trial.works ? LINES.sandboxed : `Functions are off: ${trial.sentence}`
  return { config: { ...config, functions: { ...config.functions, mode: decided } }, line }
}

/** TABLE mode → line of the greeting. */
const LINES: Readonly<Record<NonNullable<Config['functions']['mode']>, string>> = {
  sandboxed: 'Functions run in sandboxes',
  trusted: 'Functions run as plain processes of this user: BERTH_FUNCTIONS is trusted',
  off: 'Functions are off: set BERTH_FUNCTIONS to run them (docs/functions.md)',
}

/** Returns what a sites server needs to run functions; undefined where they are off. Node.js is installed when a function first needs it. */
export async function functionOptions(
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<FunctionOptions | undefined> {
  if (!runsFunctions(config.functions)) return undefined
  const { functions, runner } = config
  const { folder, builder, sandboxUser } = runner
  const kind = functions.mode === 'trusted' ? 'trusted' : 'sandboxed'
  const toolchain = await openToolchain({ folder: join(folder, 'tools'), env, builder, log })
  const never = new AbortController().signal
  return {
    kind,
    folder,
    runAs: kind === 'trusted' ? undefined : runAsOf(sandboxUser),
    network: functions.network,
    processes: functions.processes,
    async node(runtime) {
      const { major } = chooseNode(runtime.replace(/^nodejs/, ''), undefined)
      const unit = await toolchain.install(NODE_UNITS[major].node, never)
      return { folder: unit, program: join(unit, 'node_modules/.bin/node') }
    },
  }
}

/** How functions of deployments run here, and what makes pictures. docs/functions.md; docs/pictures.md. */
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { makesPictures, runsFunctions } from '../platform/settings/functions.ts'
import { openToolchain, type Toolchain } from '../runner/toolchain/toolchain.ts'
import { chooseNode, NODE_UNITS } from '../runner/toolchain/units.ts'
import { runAsOf } from '../sandbox/run-as.ts'
import type { Trial } from '../sandbox/trial.ts'
import type { NodeProgram } from '../sites/functions/function-process.ts'
import type { FunctionOptions } from '../sites/functions/runtime.ts'
import type { PictureOptions } from '../sites/pictures/picture-sandbox.ts'

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

/** `functions` undefined: they are off. `pictures` undefined: they are sent as they are. */
type SiteOptions = { functions?: FunctionOptions; pictures?: PictureOptions }

/** Returns what a sites server needs to run functions and to make pictures. Node.js and sharp are installed when they are first needed. */
export async function siteOptions(config: Config, env: NodeJS.ProcessEnv, log: Logger): Promise<SiteOptions> {
  if (!runsFunctions(config.functions)) return {}
  const { functions, runner } = config
  const { folder, builder, sandboxUser } = runner
  const kind = functions.mode === 'trusted' ? 'trusted' : 'sandboxed'
  const toolchain = await openToolchain({ folder: join(folder, 'tools'), env, builder, log })
  const runAs = kind === 'trusted' ? undefined : runAsOf(sandboxUser)
  const { network, processes } = functions
  const node = (runtime: string) => nodeOf(toolchain, runtime)
  return {
    functions: { kind, folder, runAs, network, processes, node },
    ...(makesPictures(functions) && { pictures: { folder, runAs, tools: pictureTools(toolchain) } }),
  }
}

const never = new AbortController().signal

async function nodeOf(toolchain: Toolchain, runtime: string): Promise<NodeProgram> {
  const { major } = chooseNode(runtime.replace(/^nodejs/, ''), undefined)
  const unit = await toolchain.install(NODE_UNITS[major].node, never)
  return { folder: unit, program: join(unit, 'node_modules/.bin/node') }
}

/** What a visitor waits for an installation, and how long none is tried again after one that failed. */
const INSTALL_WAIT_MS = 10_000
const RETRY_MS = 5 * 60_000

function pictureTools(toolchain: Toolchain): PictureOptions['tools'] {
  let installing: ReturnType<PictureOptions['tools']> | undefined
  const install = async () => {
    try {
      const [node, sharp] = await Promise.all([nodeOf(toolchain, PICTURE_NODE), toolchain.install('pictures', never)])
      return { node, sharp }
    } catch {
      // The toolchain has logged why.
      setTimeout(() => {
        installing = undefined
      }, RETRY_MS).unref()
      return undefined
    }
  }
  return async () => {
    installing ??= install()
    const waited = Promise.withResolvers<undefined>()
    const timer = setTimeout(waited.resolve, INSTALL_WAIT_MS, undefined)
    try {
      return await Promise.race([installing, waited.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The newest that Berth installs. */
const PICTURE_NODE = 'nodejs24.x'

/** The command of a build, its environment, and what it can read. docs/runner.md: Environment. */
import { join } from 'node:path'
import { DEFAULT_LIMITS, type Policy } from '../../sandbox/policy.ts'
import { yielding } from '../resources/priority.ts'
import { NODE_UNITS } from '../toolchain/units.ts'
import type { Build } from './build.ts'
import { buildArguments } from './project-file.ts'

export const SOURCE = 'source'
export const HOME = 'home'
/** Created in the work directory by the ignored build step. */
export const IGNORED = 'ignored'

/**
 * Runs the ignored build step first, in a shell of its own. Exit code 0 of that means: do not build. `$1`: the marker, `$2`: the root directory, `$3`:
 * the step.
 */
const WITH_IGNORED_STEP = `marker=$1 folder=$2 step=$3; shift 3
if (cd "$folder" && sh -c "$step"); then : > "$marker"; exit 0; fi
exec "$@"`

/** Returns the policy of a build whose source and tools are in place. Pure. */
export function policyOf(build: Build, registry: string | undefined): Policy {
  const { sandbox, insideWork, lease, tools, workspace, units } = build
  const readOnly = [...units.values(), ...(tools.certificates === undefined ? [] : [tools.certificates])]
  return {
    command: yielding(commandOf(build)),
    env: environmentOf(build, registry),
    workDirectory: join(workspace!.folder, '..'),
    readOnly,
    network: tools.network,
    currentDirectory: join(insideWork, SOURCE),
    limits: {
      ...DEFAULT_LIMITS,
      processes: Math.max(DEFAULT_LIMITS.processes, 1024),
      memoryBytes: tools.limits.memoryBytes,
    },
  }
  function commandOf({ units }: Build): [string, ...string[]] {
    const builder = join(sandbox.inside(units.get('builder')!), 'node_modules/vercel/dist/vc.js')
    const words = [join(binOf(build, NODE_UNITS[build.node].node), 'node'), builder, ...buildArguments(lease)]
    const step = build.ignoredStep
    if (step === undefined) return words as [string, ...string[]]
    const directory = join(insideWork, SOURCE, lease.settings.rootDirectory ?? '')
    return ['/bin/sh', '-c', WITH_IGNORED_STEP, 'build', join(insideWork, IGNORED), directory, step, ...words]
  }
}

function binOf({ sandbox, units }: Build, unit: Parameters<Build['units']['get']>[0]): string {
  return join(sandbox.inside(units.get(unit)!), 'node_modules/.bin')
}

/** Variables of the build cannot replace those that name places of the sandbox. */
function environmentOf(build: Build, registry: string | undefined): Record<string, string> {
  const { insideWork, lease, tools, sandbox, node, managers } = build
  const home = join(insideWork, HOME)
  const paths = [NODE_UNITS[node].node, NODE_UNITS[node].npm, ...managers].map((unit) => binOf(build, unit))
  return {
    ...tools.passed,
    // Corepack reads no `.npmrc`, and takes two slashes for another path.
    ...(registry !== undefined && { COREPACK_NPM_REGISTRY: registry.replace(/\/$/, '') }),
    ...(tools.certificates !== undefined && { NODE_EXTRA_CA_CERTS: sandbox.inside(tools.certificates) }),
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    VERCEL_TELEMETRY_DISABLED: '1',
    // Without it the builder warns that there are no system variables.
    VERCEL_BUILD_IMAGE: 'berth',
    NO_UPDATE_NOTIFIER: '1',
    LANG: 'C.UTF-8',
    ...lease.env,
    PATH: [...paths, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: home,
    PWD: join(insideWork, SOURCE),
    XDG_CACHE_HOME: join(home, '.cache'),
    npm_config_cache: join(home, '.npm'),
    YARN_CACHE_FOLDER: join(home, '.yarn-cache'),
  }
}

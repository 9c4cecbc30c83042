/** Types of settings of builds and runners. docs/building.md; docs/runner.md. */
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { SANDBOX_NETWORK, type SandboxNetwork } from './sandbox/network.ts'
import {
  BadSetting,
  BYTES,
  EnumSetting,
  IntegerSetting,
  ORIGIN,
  PATH,
  type Setting,
  type SettingType,
  TokenSetting,
  type ValuesOf,
} from './types.ts'

export const BUILDS = {
  BERTH_BUILDS: {
    group: 'Builds',
    type: EnumSetting('sandboxed', 'trusted', 'off'),
    whenUnset: '`sandboxed` on a laptop where a sandbox starts, else `off`',
    description:
      'Whether deployments from source are built here: in a sandbox, as plain processes (`trusted`), or not at all: [building.md](building.md).',
  },
  BERTH_BUILDS_PER_ACCOUNT: {
    group: 'Builds',
    type: IntegerSetting(1, 1000),
    default: '3',
    description: 'Builds of one account that run at the same time. Others wait: [building.md](building.md#queue).',
  },
  BERTH_RUNNER_TOKEN: {
    group: 'Builds',
    type: TokenSetting(20),
    whenUnset: 'none: runners are refused',
    description: 'Shared by the control plane and its runners: [building.md](building.md#runner-protocol).',
    secret: true,
  },
} as const satisfies Record<string, Setting>

type BuildValues = ValuesOf<typeof BUILDS>

/** `mode` off: a source is refused. `runnerToken` undefined: no runner gets a lease. */
export type BuildsSettings = {
  mode: 'sandboxed' | 'trusted' | 'off'
  runnerToken: string | undefined
  perAccount: number
}

/** Returns the settings of builds. Throws BadSetting where the token of runners is that of proxies or sites servers. */
export function buildsOf(
  values: BuildValues & { BERTH_EDGE_TOKEN: string | undefined; BERTH_SITES_TOKEN: string | undefined },
): BuildsSettings {
  const { BERTH_RUNNER_TOKEN: runnerToken, BERTH_BUILDS: mode = 'off', BERTH_BUILDS_PER_ACCOUNT: perAccount } = values
  for (const name of ['BERTH_EDGE_TOKEN', 'BERTH_SITES_TOKEN'] as const)
    if (runnerToken !== undefined && runnerToken === values[name])
      throw new BadSetting(`BERTH_RUNNER_TOKEN must differ from ${name}: it opens the variables of builds`)
  return { mode, runnerToken, perAccount }
}

/** The builder for which Berth has a lockfile. */
export const DEFAULT_BUILDER = 'vercel@64.0.2'

const BUILDER: SettingType<string> = {
  values: '`vercel@` and an exact version',
  read(name, text) {
    if (!/^vercel@\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[\w.]{1,40})?$/.test(text))
      throw new BadSetting(`${name} must be vercel@ and an exact version, such as ${DEFAULT_BUILDER}, not "${text}"`)
    return text
  },
}

const USER_NAME: SettingType<string> = {
  values: 'a user name',
  read(name, text) {
    if (!/^[A-Za-z_][\w.-]{0,31}$/.test(text))
      throw new BadSetting(`${name} must be the name of a user, such as nobody`)
    return text
  },
}

/** Bytes that are enough for the smallest build. */
function BuildBytes(min: number): SettingType<number> {
  return {
    values: BYTES.values,
    read(name, text) {
      const bytes = BYTES.read(name, text)
      if (bytes < min) throw new BadSetting(`${name} must be at least ${min / 1024 ** 2}MiB, not "${text}"`)
      return bytes
    },
  }
}

export const RUNNER = {
  BERTH_RUNNER_URL: {
    group: 'Builds',
    type: ORIGIN,
    default: 'http://127.0.0.1:3001',
    description: 'Where `berth runner` reaches the control plane: its listener for proxies (`BERTH_EDGE_PORT`).',
  },
  BERTH_RUNNER_BUILDS: {
    group: 'Builds',
    type: IntegerSetting(1, 256),
    whenUnset: 'half of the processors, at least 1',
    description: 'How many builds one `berth runner` runs at the same time: [runner.md](runner.md).',
  },
  BERTH_RUNNER_CACHE: {
    group: 'Builds',
    type: PATH,
    whenUnset: '`<BERTH_DATA>/runner`; as root `/var/cache/berth-runner`',
    description:
      'The directory of `berth runner` and of functions: tools and working directories. `BERTH_SANDBOX_USER` must be able to enter it: [runner.md](runner.md#directory).',
  },
  BERTH_BUILD_NETWORK: {
    group: 'Builds',
    type: SANDBOX_NETWORK,
    default: 'internet',
    description:
      'What a sandboxed build reaches: public addresses, nothing, or public addresses and these private ones, such as those of a registry: [sandbox.md](sandbox.md#network).',
  },
  BERTH_BUILD_MEMORY: {
    group: 'Builds',
    type: BuildBytes(512 * 1024 ** 2),
    whenUnset: '8 GiB, or three quarters of the memory divided by `BERTH_RUNNER_BUILDS` where that is less',
    description: 'Memory of one build. A build that uses more is ended: [runner.md](runner.md#limits-of-a-build).',
  },
  BERTH_BUILD_DISK: {
    group: 'Builds',
    type: BuildBytes(256 * 1024 ** 2),
    default: '10GiB',
    description: 'Disk of one build. A build that uses more is ended: [runner.md](runner.md#limits-of-a-build).',
  },
  BERTH_BUILD_FILES: {
    group: 'Builds',
    type: IntegerSetting(10_000, 100_000_000),
    default: '1000000',
    description: 'Files of one build. A build that writes more is ended: [runner.md](runner.md#limits-of-a-build).',
  },
  BERTH_BUILD_CACHE: {
    group: 'Builds',
    type: BYTES,
    default: '10GiB',
    description:
      'Disk of all build caches of one `berth runner`. One account has at most a quarter: [runner.md](runner.md#build-cache).',
  },
  BERTH_BUILDER: {
    group: 'Builds',
    type: BUILDER,
    default: DEFAULT_BUILDER,
    description:
      'The npm package that builds. A version other than the default has no lockfile: [runner.md](runner.md#toolchain).',
  },
  BERTH_SANDBOX_USER: {
    group: 'Builds',
    type: USER_NAME,
    whenUnset: '`nobody`',
    description:
      'The user that runs sandboxes where `berth runner` or `berth sites` runs as root: [sandbox.md](sandbox.md).',
  },
} as const satisfies Record<string, Setting>

export type RunnerSettings = {
  /** Origin of the control plane's listener for proxies. */
  url: string
  builds: number
  folder: string
  network: SandboxNetwork
  builder: string
  /** Of one build. */
  limits: { memoryBytes: number; diskBytes: number; files: number }
  /** Of all build caches. */
  cacheBytes: number
  sandboxUser: string | undefined
  /** Undefined: BERTH_BUILDS is not set. */
  mode: 'sandboxed' | 'trusted' | 'off' | undefined
}

/** A user that is not root can enter it, unlike a data directory of root. */
const FOLDER_OF_ROOT = '/var/cache/berth-runner'

const MAX_MEMORY = 8 * 1024 ** 3
const MIN_MEMORY = 512 * 1024 ** 2

/** A quarter of the memory is for what else runs. */
function memoryOfBuild(memory: number, builds: number): number {
  return Math.max(MIN_MEMORY, Math.min(MAX_MEMORY, Math.floor((memory * 0.75) / builds)))
}

/** Returns the settings of a runner. `isRoot`: of this process. */
export function runnerOf(
  values: ValuesOf<typeof RUNNER> & Pick<BuildValues, 'BERTH_BUILDS'> & { BERTH_DATA: string },
  isRoot = process.getuid?.() === 0,
): RunnerSettings {
  const builds = values.BERTH_RUNNER_BUILDS ?? Math.max(1, Math.floor(availableParallelism() / 2))
  return {
    url: values.BERTH_RUNNER_URL,
    builds,
    folder: values.BERTH_RUNNER_CACHE ?? (isRoot ? FOLDER_OF_ROOT : join(values.BERTH_DATA, 'runner')),
    network: values.BERTH_BUILD_NETWORK,
    builder: values.BERTH_BUILDER,
    limits: {
      memoryBytes: values.BERTH_BUILD_MEMORY ?? memoryOfBuild(totalmem(), builds),
      diskBytes: values.BERTH_BUILD_DISK,
      files: values.BERTH_BUILD_FILES,
    },
    cacheBytes: values.BERTH_BUILD_CACHE,
    sandboxUser: values.BERTH_SANDBOX_USER,
    mode: values.BERTH_BUILDS,
  }
}

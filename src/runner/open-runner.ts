/** Opens what a runner needs: directories, tools and the kind of sandbox. docs/runner.md: Directory. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { RunnerSettings } from '../platform/settings/builds.ts'
import { createSandbox, type SandboxKind } from '../sandbox/create.ts'
import { runAsOf } from '../sandbox/run-as.ts'
import { createEnterableDirectories, removeAbandonedRuns } from '../sandbox/run-directory.ts'
import { type Trial, trySandbox } from '../sandbox/trial.ts'
import type { BuildTools } from './build/build.ts'
import { openBuildCache } from './cache/build-cache.ts'
import { cacheBudgetOf } from './cache/eviction.ts'
import { openProcessTable } from './resources/processes.ts'
import { openToolchain } from './toolchain/toolchain.ts'

/** TABLE variables of the operator that builds get. One with credentials is not passed: every build could read it. */
const PASSED = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'] as const
/** Files of the trusted certificates of a system: Debian, Fedora, Alpine. */
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']

/** Starts a sandbox to find out whether this machine can build. Returns why not, and what to do. */
export async function tryBuilds(settings: RunnerSettings): Promise<Trial> {
  try {
    const parent = await openRuns(settings)
    return await trySandbox({ parent, runAs: runAsOf(settings.sandboxUser), network: settings.network })
  } catch (error) {
    return { works: false, sentence: (error as Error).message }
  }
}

/** Opens the tools of builds, and removes directories of ended runs. Throws the system error, and Error for a wrong user. */
export async function openRunner(
  settings: RunnerSettings,
  kind: SandboxKind,
  env: NodeJS.ProcessEnv,
  log: Logger,
): Promise<BuildTools> {
  const { folder, builder, network } = settings
  const runAs = kind === 'trusted' ? undefined : runAsOf(settings.sandboxUser)
  const parent = await openRuns(settings)
  const removed = await removeAbandonedRuns(parent)
  if (removed > 0) log.info({ removed }, 'removed directories of earlier builds')
  return {
    createSandbox: () => createSandbox(kind, parent, runAs),
    toolchain: await openToolchain({ folder: join(folder, 'tools'), env, builder, log }),
    network,
    passed: passedOf(env),
    certificates: [env.NODE_EXTRA_CA_CERTS, ...CERTIFICATES].find((file) => file !== undefined && existsSync(file)),
    builder,
    limits: settings.limits,
    processes: openProcessTable(),
    cache: await openBuildCache({
      folder: join(folder, 'cache'),
      budget: cacheBudgetOf(settings.cacheBytes),
      maxInside: settings.limits.diskBytes,
      log,
    }),
    log,
  }
}

async function openRuns({ folder }: RunnerSettings): Promise<string> {
  const runs = join(folder, 'runs')
  await createEnterableDirectories(folder, runs)
  return runs
}

function passedOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const pairs = PASSED.flatMap((name) => {
    const value = env[name]
    return value === undefined || value.includes('@') ? [] : [[name, value] as const]
  })
  return Object.fromEntries(pairs)
}

/** Opens what functions need of this machine: directories, the launcher and sandboxes. docs/functions.md: Directory. */
import { chmod, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { freemem } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { launcherModules } from '../../platform/base/shipped-files.ts'
import { createMasksInTurns } from '../../platform/secrets/masks.ts'
import type { Layers } from '../../sandbox/bwrap-sandbox.ts'
import type { SandboxKind } from '../../sandbox/create.ts'
import { hostResolvers } from '../../sandbox/network/host-addresses.ts'
import type { Network } from '../../sandbox/policy.ts'
import type { RunAs } from '../../sandbox/run-as.ts'
import {
  createEnterableDirectories,
  createReadableDirectory,
  createRunDirectory,
  removeAbandonedRuns,
  removeRunDirectory,
} from '../../sandbox/run-directory.ts'
import { openSandboxSpace } from '../../sandbox/space/space.ts'
import { openSpaces } from '../../sandbox/space/spaces.ts'
import type { ContentCache } from '../content/content-cache.ts'
import type { DataCache } from '../data-cache/data-cache.ts'
import { type FunctionLog, openFunctionLog } from '../logs/function-log.ts'
import { openEnvironmentSource } from './environment-source.ts'
import { FunctionFailure } from './faults.ts'
import { openFunctionCode } from './function-code.ts'
import { type NodeProgram, startProcess } from './function-process.ts'
import { type FunctionSpec, spaceOf } from './function-spec.ts'
import { type FunctionParts, type Functions, openFunctions } from './functions.ts'
import type { FunctionLine } from './log-lines.ts'
import { createFunctionPace, type FunctionPace } from './pace/function-pace.ts'
import { openProcesses, type WaitLimits } from './processes.ts'

/** `folder`: entered by the user of sandboxes. `node`: the program for a runtime such as `nodejs22.x`. `layers`: tests leave something out. */
export type FunctionOptions = {
  kind: SandboxKind
  folder: string
  runAs: RunAs
  network: Network
  processes: number | undefined
  node(runtime: string): Promise<NodeProgram>
  limits?: Partial<WaitLimits>
  pace?: FunctionPace
  layers?: Layers
}

type Sources = {
  cache: Pick<ContentCache, 'open'>
  data: Pick<DataCache, 'serve'>
  controlPlane: string
  token: string
  letContinue: FunctionParts['letContinue']
  count: FunctionParts['count']
  log: Logger
}

const MIB = 1024 ** 2
/** What a small function takes. */
const MEMORY_OF_ONE = 64 * MIB
const LIMITS: Omit<WaitLimits, 'processes' | 'ofAccount'> = {
  startMs: 30_000,
  idleMs: 5 * 60_000,
  pendingMs: 60_000,
  drainMs: 5000,
  waiting: 100,
  waitMs: 15_000,
}

/** Opens functions in a directory of this process, and removes those of processes that are gone. Throws the system's errors. */
export async function openFunctionRuntime(options: FunctionOptions, sources: Sources): Promise<Functions> {
  const { log, cache } = sources
  const { runs, sockets } = await openFolders(options.folder)
  const own = await createRunDirectory(runs)
  const { kind, runAs, network, layers, pace = createFunctionPace() } = options
  const launcher = await placeLauncher(join(own, 'launcher'))
  const spaces = openSpaces(() => openSandboxSpace(kind, runs, runAs, network, layers))
  const createSandbox = (spec: FunctionSpec) => spaces.createSandbox(spaceOf(spec, hostResolvers()))
  const means = { createSandbox, runAs, network, sockets, launcher, serveData: sources.data.serve, pace }
  const code = openFunctionCode(cache, await createReadableDirectory(join(own, 'code')))
  const environments = openEnvironmentSource(sources.controlPlane, sources.token)
  const lines = openFunctionLog(sources.controlPlane, sources.token, log)
  const writeLine = lineWriter(lines, log)
  const start: Parameters<typeof openProcesses>[0]['start'] = async (spec, take) => {
    const [{ env, masked }, node] = await Promise.all([environments.get(spec.deploymentId), nodeOf(options, spec)])
    const { mask } = await createMasksInTurns(masked.map((key) => env[key] ?? ''))
    const placed = await code.place(spec.account, spec.bundle.files)
    const onLine = (line: FunctionLine) => writeLine(spec, line, mask)
    const hooks = { onMessage: take, onLine }
    try {
      const process = await startProcess(means, { spec, code: placed, env, node }, hooks)
      process.ended.finally(placed.release).catch(() => {})
      return process
    } catch (error) {
      placed.release()
      throw error
    }
  }
  const tell = (spec: FunctionSpec, text: string) => writeLine(spec, { stream: 'stderr', requestId: '', text })
  const processes = openProcesses({ start, tell }, limitsOf(options))
  const functions = openFunctions({
    processes,
    writeLine,
    begin: lines.begin,
    count: sources.count,
    letContinue: sources.letContinue,
    log,
  })
  return {
    ...functions,
    async close() {
      await functions.close()
      await spaces.close()
      await environments.close()
      await lines.close()
      // Files may still be placed there. What cannot be removed now is removed at the next start.
      await removeRunDirectory(own).catch(() => {})
    },
  }
}

/** Lines are in the log of the sites server too, at the level `debug`. */
function lineWriter(lines: FunctionLog, log: Logger) {
  const isTold = log.isLevelEnabled('debug')
  return (spec: FunctionSpec, line: FunctionLine, mask = (text: string) => text) => {
    lines.write(spec, line, mask)
    const of = { deployment: spec.deploymentId, function: spec.bundle.name }
    if (isTold) log.debug({ ...of, ...line, text: mask(line.text) }, 'a function wrote a line')
  }
}

function limitsOf({ processes, limits }: FunctionOptions): WaitLimits {
  const max = processes ?? Math.max(4, Math.floor(freemem() / MEMORY_OF_ONE))
  return { ...LIMITS, processes: max, ofAccount: Math.max(2, Math.ceil(max / 2)), ...limits }
}

async function nodeOf({ node }: FunctionOptions, { bundle }: FunctionSpec): Promise<NodeProgram> {
  try {
    return await node(bundle.runtime)
  } catch (error) {
    const message = `its Node.js (${bundle.runtime}) cannot be installed`
    throw new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', message, error)
  }
}

async function openFolders(directory: string): Promise<{ runs: string; sockets: string }> {
  const runs = join(directory, 'functions')
  const sockets = join(directory, 's')
  await createEnterableDirectories(directory, runs, sockets)
  await removeAbandonedRuns(runs)
  await removeDeadSockets(sockets)
  return { runs, sockets }
}

/** A socket without a listener is of a process that was killed. */
async function removeDeadSockets(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const isDead = await new Promise<boolean>((resolve) => {
      const socket = connect(path)
      socket.once('connect', () => {
        socket.destroy()
        resolve(false)
      })
      socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'))
    })
    if (isDead) await rm(path, { force: true })
  }
}

async function placeLauncher(directory: string): Promise<string> {
  await createReadableDirectory(directory)
  for (const [name, text] of Object.entries(launcherModules())) {
    writeFileAtomically(join(directory, name), text)
    await chmod(join(directory, name), 0o444)
  }
  return directory
}

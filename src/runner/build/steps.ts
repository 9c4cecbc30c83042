/** TABLE steps of a build, in order. docs/runner.md: Steps. */
import { once } from 'node:events'
import { lstat, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Beat, BuildError, SourceEntry } from '../../delivery/protocol/runner-protocol.ts'
import type { Exit } from '../../sandbox/sandbox.ts'
import { withBuildScore } from '../resources/priority.ts'
import { outOfMemory, watchResources } from '../resources/watch.ts'
import { ToolMissing } from '../toolchain/toolchain.ts'
import { chooseManagers, chooseNode, NODE_UNITS, packageFacts, type Unit } from '../toolchain/units.ts'
import type { Build } from './build.ts'
import { restoreCache } from './cached.ts'
import { HOME, IGNORED, policyOf, SOURCE } from './environment.ts'
import { BuildFailure, explainExit } from './failure.ts'
import { npmSettings } from './npm-settings.ts'
import { collectOutput } from './output.ts'
import { retried, uploadOutput } from './output-upload.ts'
import { ignoredStepOf, projectFile } from './project-file.ts'
import { readHead, readSmallText } from './small-files.ts'
import { sourceFilesOf } from './source-files.ts'
import { createWorkspace, createWorkspaceDirectory, placeSource, placeText } from './workspace.ts'

const MINUTE_MS = 60_000

/** `code`: of a failure that has no code of its own; BUILD_ERRORS says who can fix it. `reported`: what beats say meanwhile. */
export type Step = {
  name: string
  reported: Beat['step']
  /** Undefined: the time limit of the build alone. */
  limitMs: number | undefined
  code: BuildError
  /** `signal` aborts when the build must end, or the step took too long. */
  run(build: Build, signal: AbortSignal): Promise<void>
}

export const STEPS: readonly Step[] = [
  { name: 'source', reported: 'preparing', limitMs: 10 * MINUTE_MS, code: 'RUNNER_FAILED', run: fetchSource },
  { name: 'tools', reported: 'preparing', limitMs: 15 * MINUTE_MS, code: 'BUILDER_UNAVAILABLE', run: installTools },
  { name: 'project file', reported: 'preparing', limitMs: MINUTE_MS, code: 'RUNNER_FAILED', run: writeProjectFile },
  // Behind the project file: a cache may have the directory of that file, which is created where none is.
  { name: 'cache', reported: 'preparing', limitMs: 5 * MINUTE_MS, code: 'RUNNER_FAILED', run: restoreCache },
  { name: 'build', reported: 'building', limitMs: undefined, code: 'RUNNER_FAILED', run: runBuilder },
  { name: 'collect', reported: 'uploading', limitMs: 5 * MINUTE_MS, code: 'BUILD_OUTPUT_REFUSED', run: collect },
  { name: 'upload', reported: 'uploading', limitMs: 15 * MINUTE_MS, code: 'RUNNER_FAILED', run: upload },
]

/** How long the rest of the output is read after the end. */
const OUTPUT_MS = 2000

async function fetchSource(build: Build, signal: AbortSignal): Promise<void> {
  const { sandbox, channel, tools } = build
  const { workDirectory, insideWork } = await sandbox.prepare()
  build.insideWork = insideWork
  const workspace = await createWorkspace(workDirectory, SOURCE)
  build.workspace = workspace
  // A folder `.vercel` of the source has no say: it may name another project.
  const isOwn = ({ path }: SourceEntry) => path === '.vercel' || path.startsWith('.vercel/')
  const entries = (await retried(() => channel.source(signal), signal)).filter((entry) => !isOwn(entry))
  await placeSource(workspace, entries, tools.limits.diskBytes, sourceFilesOf(channel, signal))
  const root = await rootOf(build)
  await chooseTools(build, entries, root)
  const files = entries.filter(({ kind }) => kind === 'file').length
  build.log.line('stdout', `Copied ${files} ${files === 1 ? 'file' : 'files'} of the source.`)
}

/** Chooses Node.js and package managers by the settings and the files of the root directory, else of the source. */
async function chooseTools(build: Build, entries: readonly SourceEntry[], root: string): Promise<void> {
  const { workspace, lease } = build
  const folders = [root, workspace!.folder]
  const [own, top] = await Promise.all(folders.map((directory) => readSmallText(join(directory, 'package.json'))))
  const locks = await Promise.all(folders.map((directory) => readHead(join(directory, 'pnpm-lock.yaml'))))
  const config = await readSmallText(join(root, 'vercel.json'))
  const { installCommand, buildCommand, nodeVersion } = lease.settings
  const { node, manager = packageFacts(top).manager } = packageFacts(own ?? top)
  build.ignoredStep = ignoredStepOf(config, lease.settings)
  build.managers = chooseManagers({
    entries,
    manager,
    texts: [installCommand, buildCommand, own, top, config],
    pnpmLock: locks.find(Boolean),
    usesCorepack: lease.env.ENABLE_EXPERIMENTAL_COREPACK === '1',
  })
  const { major, isAsked } = chooseNode(nodeVersion, node)
  build.node = major
  if (isAsked) return
  build.log.line('stdout', `Node.js ${nodeVersion} is not available for builds. This build uses ${major}.x.`)
}

/** Returns the root directory on the host. Fails with INVALID_PROJECT_SETTINGS where the source has none. */
async function rootOf({ workspace, lease }: Build): Promise<string> {
  const { rootDirectory } = lease.settings
  const top = await realpath(workspace!.folder)
  // Where the path ends, and not what its text says: parts of it may be links.
  const root = await realpath(join(top, rootDirectory ?? '')).catch(() => undefined)
  const isInside = root === top || root?.startsWith(`${top}/`)
  if (root !== undefined && isInside && (await lstat(root)).isDirectory()) return root
  throw new BuildFailure(
    'INVALID_PROJECT_SETTINGS',
    `The root directory ${JSON.stringify(rootDirectory)} of the project settings is not in the source.`,
  )
}

async function installTools(build: Build, signal: AbortSignal): Promise<void> {
  const { managers, node, units, log } = build
  const wanted: Unit[] = ['builder', NODE_UNITS[node].node, NODE_UNITS[node].npm, ...managers]
  const late = setTimeout(
    () => log.line('stdout', 'Waiting for the tools of builds: the runner installs each version once.'),
    1000,
  )
  try {
    for (const unit of wanted) units.set(unit, await installTool(build, unit, signal))
  } finally {
    clearTimeout(late)
  }
}

async function installTool({ tools }: Build, unit: Unit, signal: AbortSignal): Promise<string> {
  try {
    return await tools.toolchain.install(unit, signal)
  } catch (error) {
    throw error instanceof ToolMissing ? new BuildFailure('BUILDER_UNAVAILABLE', error.message) : error
  }
}

async function writeProjectFile({ workspace, lease, node, tools }: Build): Promise<void> {
  const { folder } = workspace!
  const home = join(folder, '..', HOME)
  await createWorkspaceDirectory(workspace!, home)
  await placeText(workspace!, join(home, '.npmrc'), npmSettings(lease.env, await tools.toolchain.registry()))
  await createWorkspaceDirectory(workspace!, join(folder, '.vercel'))
  await placeText(workspace!, join(folder, '.vercel', 'project.json'), projectFile(lease, node))
}

async function runBuilder(build: Build, signal: AbortSignal): Promise<void> {
  const { sandbox, log, workspace, tools, lease } = build
  const policy = policyOf(build, await tools.toolchain.registry())
  signal.throwIfAborted()
  if (build.ignoredStep !== undefined) log.line('command', build.ignoredStep)
  log.line('command', lease.target === 'production' ? 'vercel build --prod' : 'vercel build')
  withBuildScore(() => sandbox.start(policy))
  const output = sandbox.output()
  output.on('data', (bytes: Buffer) => log.write(bytes))
  output.on('error', () => {})
  const read = once(output, 'close')
  const exit = await exitOf(build, signal)
  // The last lines may still be in the pipe.
  await Promise.race([read, sleep(OUTPUT_MS)])
  log.end()
  signal.throwIfAborted()
  const marker = await lstat(join(workspace!.folder, '..', IGNORED)).catch(() => undefined)
  build.isIgnored = marker !== undefined && exit.code === 0 && build.ignoredStep !== undefined
  if (exit.code === 0) return
  if (exit.ranOutOfMemory) throw outOfMemory(tools.limits)
  const { code, message } = explainExit(exit, log.lastLines())
  throw new BuildFailure(code, message)
}

/** Waits for the end of the builder. Throws the BuildFailure of a build that uses too much, whose sandbox still runs then. */
async function exitOf({ sandbox, tools, workspace }: Build, signal: AbortSignal): Promise<Exit> {
  const ended = new AbortController()
  const { limits, processes } = tools
  const directory = join(workspace!.folder, '..')
  const watched = { pid: sandbox.pid(), directory, limits, processes }
  const watching = watchResources(watched, AbortSignal.any([signal, ended.signal]))
  const exit = sandbox.wait()
  try {
    const failure = await Promise.race([exit.then(() => undefined), watching])
    if (failure !== undefined) throw failure
    return await exit
  } finally {
    ended.abort()
  }
}

async function collect(build: Build, signal: AbortSignal): Promise<void> {
  build.output = await collectOutput(build.workspace!.folder, signal)
}

async function upload({ channel, output, log }: Build, signal: AbortSignal): Promise<void> {
  const { sent, bytes } = await uploadOutput(channel, output!.files, signal)
  log.line('stdout', `Uploaded ${sent} of ${output!.files.length} files of the output (${bytes} bytes).`)
}

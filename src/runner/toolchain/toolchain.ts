/** Installs the tools of builds once, for all builds. Runs outside of a sandbox, and runs nothing of a package. docs/runner.md: Toolchain. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Logger } from 'pino'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { randomText } from '../../platform/base/ids.ts'
import { shippedFile } from '../../platform/base/shipped-files.ts'
import { DEFAULT_BUILDER } from '../../platform/settings/builds.ts'
import { PLAIN_INIT_SCRIPT } from '../../sandbox/init-script.ts'
import { AHEAD, UNITS, type Unit } from './units.ts'

/** A tool that cannot be installed. The message is for the operator and for the log of the build. */
export class ToolMissing extends Error {}

export type Toolchain = {
  /** Returns the directory of a unit, with `node_modules` in it. Installs it on first use. Throws ToolMissing. */
  install(unit: Unit, stopping: AbortSignal): Promise<string>
  /** Installs what builds may need, one after another and with low priority, until `stopping` aborts. Never throws. */
  installAhead(stopping: AbortSignal): Promise<void>
  /** The registry of the operator's npm, without credentials; undefined: the default one. */
  registry(): Promise<string | undefined>
}

export type ToolchainOptions = {
  /** Must be readable by the user that runs sandboxes. */
  folder: string
  /** Of npm, which downloads. */
  env: NodeJS.ProcessEnv
  /** `name@version` */
  builder: string
  log: Logger
}

const IN_BACKGROUND = 15
const INSTALL_MS = 15 * 60_000
const QUERY_MS = 30_000
const MAX_OUTPUT = 4000
const UNFINISHED = '.new-'
/** Another runner may be installing there. */
const STALE_MS = 2 * INSTALL_MS

type State = ToolchainOptions & {
  installing: Map<Unit, Promise<string>>
  registry: Promise<string | undefined> | undefined
}

/** Opens the directory of tools, and removes unfinished installations. Throws the system error where it cannot be created. */
export async function openToolchain(options: ToolchainOptions): Promise<Toolchain> {
  await mkdir(options.folder, { recursive: true })
  await chmod(options.folder, 0o755)
  await removeUnfinished(options.folder)
  const state: State = { ...options, installing: new Map(), registry: undefined }
  return {
    install: (unit, stopping) => installOnce(state, unit, stopping),
    async installAhead(stopping) {
      for (const unit of AHEAD) {
        if (stopping.aborted) return
        // The first build that needs it tries again, and names the reason.
        await installOnce(state, unit, stopping, IN_BACKGROUND).catch(() => {})
      }
    },
    registry() {
      state.registry ??= registryOf(options)
      return state.registry
    },
  }
}

async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(UNFINISHED)) continue
    const path = join(directory, name)
    // Another runner may have removed or finished it.
    const stats = await stat(path).catch(() => undefined)
    if (stats && stats.mtimeMs <= Date.now() - STALE_MS) await rm(path, { recursive: true, force: true })
  }
}

/** One installation for all builds that wait for it. A build that ends does not end it: the next one needs it too. */
async function installOnce(state: State, unit: Unit, stopping: AbortSignal, niceness = 0): Promise<string> {
  let installing = state.installing.get(unit)
  if (installing === undefined) {
    installing = install(state, unit, niceness)
    state.installing.set(unit, installing)
    installing.catch(() => state.installing.delete(unit))
  }
  stopping.throwIfAborted()
  const stopped = Promise.withResolvers<never>()
  const onStop = () => stopped.reject(stopping.reason)
  stopping.addEventListener('abort', onStop, { once: true })
  try {
    return await Promise.race([installing, stopped.promise])
  } finally {
    stopping.removeEventListener('abort', onStop)
  }
}

type Packages = { manifest: string; lock: string | undefined }

/** A builder that the operator chose has no lockfile here. */
function packagesOf({ builder }: State, unit: Unit): Packages {
  if (unit !== 'builder' || builder === DEFAULT_BUILDER)
    return { manifest: shippedFile(UNITS[unit].manifest), lock: shippedFile(UNITS[unit].lock) }
  const at = builder.lastIndexOf('@')
  const dependencies = { [builder.slice(0, at)]: builder.slice(at + 1) }
  return { manifest: JSON.stringify({ private: true, dependencies }), lock: undefined }
}

async function install(state: State, unit: Unit, niceness: number): Promise<string> {
  const { folder, env, log } = state
  const { manifest, lock } = packagesOf(state, unit)
  const digest = createHash('sha256')
    .update(manifest)
    .update(lock ?? '')
    .digest('hex')
  const place = join(folder, `${unit}-${digest.slice(0, 16)}`)
  if (existsSync(place)) return place
  const fresh = join(folder, `${UNFINISHED}${unit}-${randomText(16)}`)
  const began = performance.now()
  log.info({ unit }, 'installing a tool of builds')
  try {
    await mkdir(fresh)
    await chmod(fresh, 0o755)
    await writeReadable(join(fresh, 'package.json'), manifest)
    if (lock !== undefined) await writeReadable(join(fresh, 'package-lock.json'), lock)
    const words = [lock === undefined ? 'install' : 'ci', '--ignore-scripts', '--no-audit', '--no-fund']
    await runNpm([...words, '--loglevel=error'], fresh, env, INSTALL_MS, niceness)
    await rename(fresh, place).catch((error) => {
      // Another runner was first.
      if (!existsSync(place)) throw error
    })
  } catch (error) {
    log.error({ err: error, unit }, 'cannot install a tool of builds')
    throw error
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  log.info({ unit, seconds: Math.round((performance.now() - began) / 1000) }, 'installed a tool of builds')
  return place
}

/** Node.js of the sandbox reads the file. */
async function writeReadable(file: string, text: string): Promise<void> {
  writeFileAtomically(file, text)
  await chmod(file, 0o644)
}

/** Runs npm and returns its output. The umask of the service would hide the files from the user of the sandbox. */
async function runNpm(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
  niceness = 0,
): Promise<string> {
  const npm = ['/bin/sh', '-c', `umask 022 && exec nice -n ${niceness} npm "$@"`, 'npm', ...words]
  const shell = ['-c', PLAIN_INIT_SCRIPT, 'init', ...npm]
  // A process group that watches its standard input ends with the runner, however that ends.
  const child = spawn('/bin/sh', shell, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  child.stdin.on('error', () => {})
  const late = setTimeout(() => child.stdin.destroy(), timeoutMs)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  }).finally(() => clearTimeout(late))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code === 0) return out
  const reason =
    code === 127
      ? 'npm is not installed on the machine of the runner: install Node.js with npm'
      : withoutCredentials(err.trim().slice(-MAX_OUTPUT)) || `npm ended with ${code ?? 'a signal'}`
  throw new ToolMissing(`npm ${words[0]} failed: ${reason}`)
}

async function registryOf({ folder, env, log }: ToolchainOptions): Promise<string | undefined> {
  try {
    const url = URL.parse((await runNpm(['config', 'get', 'registry'], folder, env, QUERY_MS)).trim())
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    url.username = ''
    url.password = ''
    return url.href
  } catch (error) {
    log.warn({ err: error }, 'cannot ask npm for its registry')
    return undefined
  }
}

function withoutCredentials(message: string): string {
  return message.replace(/(https?:\/\/)[^\s/@]*@/g, '$1')
}

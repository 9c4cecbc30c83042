/** Programs of a run of functions: a control plane, a sites server that is killed, deployments with functions, and their visitors. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startSites } from '../support/process.ts'
import { canRun } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { freePort } from '../support/servers/free-port.ts'
import { SITES_TOKEN } from '../support/worlds/sites-world.ts'
import { askerAt, type Contents, createOf, endOf, hashOf, uploadAll } from './deploying.ts'
import type { Run } from './fault.ts'
import { type Asked, echoModule } from './function-visitors.ts'
import { startAndCount } from './kill.ts'
import { openLine } from './line.ts'

/** `trusted`: plain processes. `sandboxed`: with a network namespace that the functions of a project share. */
export type Kind = 'trusted' | 'sandboxed'

export type Place = {
  run: Run
  kind: Kind
  home: ServiceHome
  control: RunningService
  /** Of functions: what their processes have on their command lines. */
  folder: string
  functions: Asked[]
  /** Starts the sites server. `script`: another program than Berth's. */
  start(script?: string): Promise<RunningService>
}

const PROJECTS = ['one', 'two', 'three']
const NAMES = ['a', 'b']
/** What functions and builds need is installed once for all runs. */
export const TOOLS = join(root, '.cache', 'runner', 'tools')
/** The device node is of one program alone, so that the machine's keeps its mode. */
const OPEN_TUN = `mount -t tmpfs -o mode=755 tmpfs /mnt
mknod -m 666 /mnt/tun c 10 200
mount --bind /mnt/tun /dev/net/tun
exec "$@"`

/** Why functions do not run in a sandbox with network here; undefined where they do. */
export function whyNoSandbox(): string | undefined {
  if (process.getuid?.() !== 0) return 'it takes root to open the device of a network for sandboxes'
  const missing = ['bwrap', 'pasta', 'nft'].filter((program) => !canRun(program, '--version'))
  return missing.length === 0 ? undefined : `${missing.join(', ')} is not installed`
}

/** Starts a control plane and deploys. `isShared`: functions that mix their requests up. */
export async function openPlace(run: Run, kind: Kind, isShared = false): Promise<Place> {
  const home = await newHome(run, run.engine)
  const folder = mkdtempSync(join(tmpdir(), 'berth-fk-'))
  run.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  mkdirSync(TOOLS, { recursive: true })
  symlinkSync(TOOLS, join(folder, 'tools'))
  const edge = await freePort()
  const env = { BERTH_EDGE_PORT: String(edge), BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: kind }
  const control = await startAndCount(run, home, env)
  run.found.recoveriesMs = []
  const { token } = credentialsOf(home)
  const functions: Asked[] = []
  for (const [at, project] of PROJECTS.entries())
    functions.push(...(await deploy(control.address, token, project, at, isShared)))
  const sites = {
    ...{ BERTH_DATA: join(home.folder, '..', 'sites'), BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: kind },
    ...{ BERTH_SITES_CONTROL_PLANE: `http://127.0.0.1:${edge}`, BERTH_RUNNER_CACHE: folder },
    ...{ BERTH_FUNCTION_PROCESSES: '24', BERTH_LOG_LEVEL: 'warn' },
  }
  const start = (script = join(root, 'bin', 'berth.mjs')) =>
    startSites(run, { folder: home.folder, env: sites }, {}, [...aroundSandboxes(kind), process.execPath, script])
  return { run, kind, home, control, folder, functions, start }
}

/** Returns the words before a program that runs sandboxes with a network. */
export function aroundSandboxes(kind: Kind): string[] {
  return kind === 'trusted' ? [] : ['unshare', '--mount', '--propagation', 'private', 'sh', '-ec', OPEN_TUN, 'sh']
}

async function deploy(
  address: string,
  token: string,
  project: string,
  at: number,
  isShared: boolean,
): Promise<Asked[]> {
  const line = openLine(address)
  await line.say('POST', '/v10/projects', token, { name: project })
  line.close()
  const marks = NAMES.map((_, index) => `${process.pid}${at}${index}`)
  const contents: Contents = new Map([['.vercel/output/config.json', Buffer.from('{"version":3}')]])
  for (const [index, name] of NAMES.entries()) {
    const folder = `.vercel/output/functions/api/${name}.func`
    const config = { runtime: 'nodejs22.x', handler: 'index.mjs', launcherType: 'Nodejs' }
    contents.set(`${folder}/.vc-config.json`, Buffer.from(JSON.stringify(config)))
    contents.set(`${folder}/index.mjs`, Buffer.from(echoModule(marks[index]!, isShared)))
  }
  const ask = askerAt(address, token)
  const all = new Set([...contents.values()].map((bytes) => hashOf('sha1', bytes)))
  const refused = await uploadAll(ask, contents, all)
  const { end, deployment } = refused ?? endOf(await createOf(project, contents)(ask), contents)
  if (deployment === undefined) throw new Error(`a deploy with functions ended with ${end}`)
  const host = new URL(`http://${deployment.url}`).hostname
  return NAMES.map((name, index) => ({ host, path: `/api/${name}`, mark: marks[index]! }))
}

/** Returns the directories of runs of functions with what is in each, and their sockets. */
export function leftBelow(folder: string): { runs: string[]; sockets: string[] } {
  const namesIn = (name: string) => {
    try {
      return readdirSync(join(folder, name))
    } catch {
      return []
    }
  }
  const runs = namesIn('functions').map((name) => `${name} (${namesIn(join('functions', name)).join(', ')})`)
  return { runs, sockets: namesIn('s') }
}

/** Returns the mounts that a process sees and that have the text in their line: numbers of namespaces are used again, and paths are not. */
export function mountsWith(text: string, pid: number | 'self' = 'self'): string[] {
  try {
    const lines = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n')
    return lines.filter((line) => line.includes(text))
  } catch {
    // It has ended.
    return []
  }
}

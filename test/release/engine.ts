/** The image as other programs run it: buildah opens the layout, and runc runs what is in it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { canRun, skipReason, WITH_SBIN } from '../support/programs.ts'

const ENV = { PATH: WITH_SBIN, HOME: '/nonexistent' }
/** What a process needs a network or control groups of its own for. It shares those of the machine. */
const OF_THE_MACHINE = ['/sys', '/sys/fs/cgroup']

type Process = { args: string[]; env: string[]; user: { uid: number; gid: number }; cwd: string }

/** Why no engine runs here; undefined where one does. A machine may not let runc run anything, for any user. Throws as `lacking` does. */
export function whyNoEngine(): string | undefined {
  if (!canRun('buildah', '--version') || !canRun('runc', '--version'))
    return skipReason('buildah with runc', 'buildah runc', 'who else runs the image')
  const folder = mkdtempSync(join(tmpdir(), 'berth-engine-'))
  try {
    const root = join(folder, 'root')
    mkdirSync(root)
    const process = { args: ['/usr/bin/true'], env: ['PATH=/usr/bin'], user: { uid: 0, gid: 0 }, cwd: '/' }
    const [program, ...words] = prepareRun(
      folder,
      root,
      ['/usr', '/lib', '/lib64'].map((path) => bound(path, path, 'ro')),
      process,
    )
    if (spawnSync(program!, words, { env: ENV }).status === 0) return undefined
    const why = 'runc may not run a program here, so nothing is known of who else runs the image'
    console.error(`\n*** SKIPPED: ${why} ***\n`)
    return why
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `run`: the words that run an image. `pid`: the process in it. `end`: ends it by force, if it is still there. */
type Engine = { run: string[]; pid: () => number; end: () => void }

/** Opens a layout below a folder. `data`: what is to be the volume; `env`: what the image gets in addition to its own. */
export function prepareImage(layout: string, folder: string, data: string, env: string[]): Engine {
  const buildah = (...words: string[]) => {
    const places = ['--root', join(folder, 'images'), '--runroot', join(folder, 'running'), '--storage-driver', 'vfs']
    return execFileSync('buildah', [...places, ...words], {
      cwd: dirname(layout),
      env: ENV,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  }
  // buildah names an image by its path, and rejects capital letters in a name: the path is that from the folder above.
  const container = buildah('from', `oci:${basename(layout)}`)
  const { config } = JSON.parse(buildah('inspect', container)).OCIv1
  const [uid = 0, gid = 0] = config.User.split(':').map(Number)
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, uid, gid)
  const process = { args: config.Entrypoint, env: [...config.Env, ...env], user: { uid, gid }, cwd: config.WorkingDir }
  const run = prepareRun(folder, buildah('mount', container), [bound('/data', data, 'rw')], process)
  const ask = (...words: string[]) =>
    spawnSync('runc', [...run.slice(1, 3), ...words, run.at(-1)!], { env: ENV, encoding: 'utf8' })
  return { run, pid: () => JSON.parse(ask('state').stdout).pid, end: () => void ask('delete', '--force') }
}

/** Writes what runc is to run, with the root for reading alone, and gives the words that run it. */
function prepareRun(folder: string, root: string, mounts: object[], process: Process): string[] {
  execFileSync('runc', ['spec', '--bundle', folder], { env: ENV })
  const path = join(folder, 'config.json')
  const spec = JSON.parse(readFileSync(path, 'utf8'))
  Object.assign(spec.process, process, { terminal: false })
  spec.root = { path: root, readonly: true }
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== 'network')
  const own = spec.mounts.filter(({ destination }: { destination: string }) => !OF_THE_MACHINE.includes(destination))
  spec.mounts = [...own, ...mounts]
  writeFileSync(path, JSON.stringify(spec))
  return ['runc', '--root', join(folder, 'containers'), 'run', '--bundle', folder, `berth-${globalThis.process.pid}`]
}

function bound(destination: string, source: string, access: 'ro' | 'rw'): object {
  return { destination, type: 'bind', source, options: ['bind', access] }
}

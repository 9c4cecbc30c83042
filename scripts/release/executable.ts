/** The single executable: the runtime with the program inside. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Arch = 'x64' | 'arm64'

const root = join(import.meta.dirname, '..', '..')

/** Writes the executable of a processor to the file `to`. Only one for the processor of this machine gets compiled code. Throws when the runtime cannot be had or not made into one. */
export function makeExecutable(code: string, arch: Arch, to: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'berth-executable-'))
  try {
    const isOwn = arch === process.arch
    const { flags } = JSON.parse(readFileSync(join(root, 'scripts', 'runtime.json'), 'utf8'))
    writeFileSync(join(folder, 'berth.mjs'), code)
    const config = {
      main: 'berth.mjs',
      mainFormat: 'module',
      output: to,
      executable: isOwn ? process.execPath : fetchRuntime(arch, folder),
      disableExperimentalSEAWarning: true,
      useCodeCache: isOwn,
      execArgv: flags,
    }
    writeFileSync(join(folder, 'executable.json'), JSON.stringify(config))
    // Compiled code holds hashes of names, which a seed goes into: a seed of every process its own would give other bytes each time.
    run(folder, process.execPath, ['--random-seed=1', '--build-sea', 'executable.json'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Installs the runtime of another processor, of the version and with the hash that the lock file has. Gives its path. */
function fetchRuntime(arch: Arch, folder: string): string {
  const name = `node-linux-${arch}`
  const place = join(folder, 'runtime')
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[`node_modules/${name}`]
  const own = { name: 'runtime', version: '0.0.0', dependencies: { [name]: locked.version } }
  const { optional: _, ...entry } = locked
  const lock = { ...own, lockfileVersion: 3, packages: { '': own, [`node_modules/${name}`]: entry } }
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), JSON.stringify(own))
  writeFileSync(join(place, 'package-lock.json'), JSON.stringify(lock))
  run(place, 'npm', ['ci', '--force', '--ignore-scripts', '--no-audit', '--no-fund', '--os=linux', `--cpu=${arch}`])
  return join(place, 'node_modules', name, 'bin', 'node')
}

function run(cwd: string, program: string, words: string[]): void {
  const { status, stderr, error } = spawnSync(program, words, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${words[0]} ended with ${status}: ${error?.message ?? stderr}`)
}

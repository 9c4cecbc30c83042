/** A sandbox of bubblewrap, without network and without rights of root. docs/sandbox.md. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chown, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, type Writable } from 'node:stream'
import { bwrapArguments, FILTER_DESCRIPTOR, OPTIONS_DESCRIPTOR } from './bwrap-arguments.ts'
import { INIT_SCRIPT } from './init-script.ts'
import { createRunDirectory } from './run-directory.ts'
import type { Exit, Sandbox } from './sandbox.ts'
import { seccompFilter } from './seccomp.ts'

const FILTER = seccompFilter()

/** The user outside as whom commands run; undefined: the user of this process, who must not be root. */
export type RunAs = { uid: number; gid: number } | undefined

/** Creates a sandbox whose directory lies below `parent`. Throws as root without `runAs`. `argumentsOf`: tests leave out one layer by it. */
export function createBwrapSandbox(parent: string, runAs: RunAs, argumentsOf = bwrapArguments): Sandbox {
  if (runAs === undefined && process.getuid?.() === 0) throw new Error('a sandbox never runs as root')
  const output = new PassThrough()
  let directory: string | undefined
  let child: ChildProcess | undefined
  let ended: Promise<Exit> | undefined
  return {
    async prepare() {
      directory = await createRunDirectory(parent)
      const workDirectory = join(directory, 'work')
      await mkdir(workDirectory, { mode: 0o700 })
      if (runAs !== undefined) await chown(workDirectory, runAs.uid, runAs.gid)
      return { workDirectory }
    },
    start(policy) {
      if (directory === undefined || child !== undefined) throw new Error('a sandbox is prepared and started once')
      const outer = ['--user', '--map-current-user', '--pid', '--fork', '--kill-child', '--', 'sh', '-c', INIT_SCRIPT]
      const { options, command } = argumentsOf(policy)
      const bwrap = ['bwrap', '--args', String(OPTIONS_DESCRIPTOR), '--', ...command]
      child = spawn('unshare', [...outer, 'init', ...bwrap], {
        // A process group of its own: `destroy` ends all of it at once.
        detached: true,
        // Standard input is the pipe that the first process watches. Nothing is ever written to it.
        stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
        cwd: '/',
        env: { PATH: '/usr/bin:/bin:/usr/sbin' },
        ...runAs,
      })
      child.stdout!.pipe(output, { end: false })
      child.stderr!.pipe(output, { end: false })
      child.stdin!.on('error', () => {})
      writeTo(child.stdio[OPTIONS_DESCRIPTOR] as Writable, options.join('\0'))
      writeTo(child.stdio[FILTER_DESCRIPTOR] as Writable, FILTER)
      ended = exitOf(child)
      // Not the closing of the pipes: a process that failed may hold them for ever.
      ended.finally(() => output.end()).catch(() => {})
    },
    output: () => output,
    wait: () => ended ?? Promise.reject(new Error('the sandbox was not started')),
    async destroy() {
      if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) killGroup(child.pid)
      await ended?.catch(() => {})
      if (directory !== undefined) await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The process may end before it has read everything. */
function writeTo(pipe: Writable, bytes: string | Buffer): void {
  pipe.on('error', () => {})
  pipe.end(bytes)
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** Ends the process group of a sandbox. It may have ended by itself. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

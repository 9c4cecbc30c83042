/** A process group that a sandbox starts and ends whole. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import type { ControlGroup } from './limits/control-group.ts'
import type { RunAs } from './run-as.ts'
import type { Exit } from './sandbox.ts'

/** How long output is read once all processes have ended. A process outside the group may hold the pipes for ever. */
const LAST_OUTPUT_MS = 500

type Start = {
  words: readonly string[]
  env: Readonly<Record<string, string>>
  directory: string
  runAs: RunAs
  /** What the first process reads before it watches standard input. */
  input?: string
  /** Which everything of the process group is put into before it starts. */
  controlGroup: ControlGroup | undefined
}

export type ProcessGroup = {
  pid: number | undefined
  /** Standard output and standard error as one stream. It ends once the group has ended. */
  output: Readable
  /** Resolves once the first process has ended, and all others of the group with it. Rejects where it could not be started. */
  ended: Promise<Exit>
  /** Sends SIGKILL to the whole group. Does nothing once it has ended. */
  kill(): void
}

/** Returns the group of a sandbox. Throws before it was started. */
export function startedOf(group: ProcessGroup | undefined): ProcessGroup {
  if (group === undefined) throw new Error('the sandbox was not started')
  return group
}

/** Waits for a line before it becomes the program, so that the process is in its control group when it starts others. */
const GATED = ['sh', '-c', 'read -r go && exec "$@"', 'gate']

/** Starts a program as the leader of a process group. Its standard input is a pipe that stays open as long as this process lives. */
export function startGroup({ words, env, directory, runAs, input = '', controlGroup }: Start): ProcessGroup {
  const [program, ...rest] = controlGroup === undefined ? words : [...GATED, ...words]
  const child = spawn(program!, rest, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...closedDescriptors()],
    cwd: directory,
    env,
    ...runAs,
  })
  if (child.pid !== undefined) addTo(controlGroup, child.pid)
  const output = new PassThrough()
  for (const stream of [child.stdout!, child.stderr!]) stream.pipe(output, { end: false })
  startInput(child.stdin!, controlGroup === undefined ? input : `go\n${input}`)
  let hasEnded = false
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      hasEnded = true
      // A pasta that failed leaves a process that holds the pipes and ignores SIGTERM, so `exit` counts and not `close`.
      killGroup(child.pid!)
      resolve({ code, signal })
    })
  })
  ended.then(() => endOutput(child, output)).catch(() => output.end())
  return {
    pid: child.pid,
    output,
    ended,
    kill: () => {
      if (child.pid !== undefined && !hasEnded) killGroup(child.pid)
    },
  }
}

/** Throws where it cannot be put into its group, and nothing runs. */
function addTo(controlGroup: ControlGroup | undefined, pid: number): void {
  try {
    controlGroup?.add(pid)
  } catch (error) {
    killGroup(pid)
    throw error
  }
}

const CLOSE_ON_EXEC = 0o2000000
let nothing: number | undefined

/**
 * Replaces descriptors that this process inherited without close-on-exec: a file or socket of what started the service would be open in the sandbox.
 * Node.js opens its own with it.
 */
function closedDescriptors(): Extract<StdioOptions, unknown[]> {
  const inherited = inheritedDescriptors()
  nothing ??= inherited.length > 0 ? openSync('/dev/null', 'r') : undefined
  const max = Math.max(2, ...inherited)
  return Array.from({ length: max - 2 }, (_, at) => (inherited.includes(at + 3) ? nothing! : 'ignore'))
}

function inheritedDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fdinfo')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor))
  } catch {
    // Another system than Linux, where no sandbox keeps anything in.
    return []
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const [, flags = '0'] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? []
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch {
    // The descriptor of the listing itself.
    return false
  }
}

/** The pipe is not closed after the input. The process may end before it has read everything. */
function startInput(pipe: Writable, input: string): void {
  pipe.on('error', () => {})
  pipe.write(input)
}

/** Ends the output once both pipes are closed, or nothing has come for a while. A slow reader loses nothing. */
function endOutput(child: ChildProcess, output: PassThrough): void {
  const timer = setInterval(() => {
    if (!output.writableNeedDrain) end()
  }, LAST_OUTPUT_MS)
  const end = () => {
    clearInterval(timer)
    for (const stream of [child.stdout!, child.stderr!]) stream.destroy()
    output.end()
  }
  if (child.stdout!.closed && child.stderr!.closed) end()
  else child.once('close', end)
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The processes that the bench starts. Each is ended by its own pid, also when the bench fails or is interrupted. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server of ours: the process, and where it listens. */
export type Server = {
  process: ChildProcess
  origin: string
  /** Where proxies ask it, when it said so. */
  edge?: string | undefined
}
/** A server, and the token that opens it. */
export type Target = Server & { token: string }

const MAX_STOP_MS = 10_000
const MAX_START_MS = 10_000
const alive = new Set<ChildProcess>()

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => process.exit(code))
}

/** Ends at once what still runs. For the end of the process, where nothing can be awaited. */
export function killAll(): void {
  for (const child of alive) child.kill('SIGKILL')
}

/** The settings of the allocator and the flags of the runtime that a server starts with, and the parameters of its script. */
export type Words = { settings: Record<string, string>; flags: string[]; parameters?: string[] }

/**
 * Starts a script of the project (or of another place, by its whole path) on this Node and waits until it says where it listens. A file
 * that is not a script is a program: it is started directly, and contains the flags.
 * `channel`: messages may be sent to it. `words`: those of `npm start` where none are given.
 */
export async function startServer(
  script: string,
  env: NodeJS.ProcessEnv,
  { channel, words = wordsOfStart() }: { channel?: 'ipc'; words?: Words | undefined } = {},
): Promise<Server> {
  const file = resolve(import.meta.dirname, '..', '..', script)
  const { settings, flags, parameters = [] } = words
  const isScript = /\.m?[jt]s$/.test(file)
  const child = track(
    spawn(isScript ? process.execPath : file, isScript ? [...flags, file, ...parameters] : parameters, {
      env: { ...env, ...settings },
      stdio: ['ignore', 'pipe', 'inherit', channel],
    }),
  )
  return { process: child, ...(await originsOf(child, script)) }
}

/** Those of `npm start`. */
export function wordsOfStart(): Words {
  return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'runtime.json'), 'utf8'))
}

/** Runs a program to its end and gives what it printed. Throws when it fails. */
export async function runProgram(program: string, parameters: string[]): Promise<string> {
  const child = track(spawn(program, parameters, { stdio: ['ignore', 'pipe', 'inherit'] }))
  let text = ''
  child.stdout!.on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${text}`)
  return text
}

/** Starts a program that does not say where it listens, and waits until this port of the machine takes connections. */
export async function startProgram(
  [program, ...parameters]: readonly string[],
  env: NodeJS.ProcessEnv,
  port: number,
): Promise<Server> {
  const child = track(spawn(program!, parameters, { env, stdio: 'ignore' }))
  const until = performance.now() + MAX_START_MS
  while (!(await accepts(port))) {
    if (performance.now() > until || child.exitCode !== null) throw new Error(`${program} did not start`)
    await sleep(50)
  }
  return { process: child, origin: `http://127.0.0.1:${port}` }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Stops a server in order, and at once when that takes too long. */
export async function stopServer({ process: child }: Server): Promise<void> {
  if (!alive.has(child)) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const timeout = setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MS)
  await gone
  clearTimeout(timeout)
}

/** The memory of a process that is in RAM now, and the most it ever was, in MB (10^6 bytes). Undefined where there is no /proc. */
export function memoryOf({ process: child }: Server): { now: number; most: number } | undefined {
  let status: string
  try {
    status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  } catch {
    return undefined
  }
  const megabytes = (field: string) => (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6
  return { now: megabytes('VmRSS'), most: megabytes('VmHWM') }
}

/** The processor time that a process has used, in microseconds, all its threads together. Undefined where there is no /proc. */
export function processorTimeOf(server: Server | { pid: number }): number | undefined {
  const pid = 'pid' in server ? server.pid : server.process.pid
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // After the name, which may hold anything, utime and stime are the 12th and 13th fields, in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

function track(child: ChildProcess): ChildProcess {
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  return child
}

/** Keeps reading after the address is known: a server with a full output pipe would stop. */
function originsOf(child: ChildProcess, script: string): Promise<Omit<Server, 'process'>> {
  return new Promise((resolve, reject) => {
    let text = ''
    let found = false
    child.stdout!.on('data', (chunk) => {
      if (found) return
      text += chunk
      const origin = /listening on (http:\/\/\S+)\n/.exec(text)?.[1]
      if (origin === undefined) return
      found = true
      resolve({ origin, edge: /^Proxies ask (http:\/\/\S+)/m.exec(text)?.[1] })
    })
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code} before it listened`)))
  })
}

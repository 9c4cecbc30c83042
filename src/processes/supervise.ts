/** Programs that a service on a laptop starts: processes of this program, which end with it. docs/deploying-sites.md: Local use. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isSea } from 'node:sea'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Setting } from '../platform/settings/types.ts'
import { SETTINGS } from '../settings.ts'

/** The service answers first: a starting process uses a processor of a small machine. */
const AFTER_MS = 250
/** The delay after a failure, doubled after each further one. */
const MIN_PAUSE_MS = 500
const MAX_PAUSE_MS = 60_000
/** After this time an exit does not count as a failed start. */
const RAN_MS = 60_000
/** EX_CONFIG: a restart does not fix it. */
const BAD_SETTING = 78
/** The service ends after 9 s at the latest, so this ends earlier. */
const MAX_STOP_MS = 8000

/** `name`: of the log. `without`: what is missing while it cannot start. */
export type Program = { command: string; name: string; without: string }

export type RunningProgram = {
  /** Stops it, and resolves when it has ended. */
  stop(): Promise<void>
}

/** Keeps a program running. `env`: of this process, from which it gets no secrets. `own`: settings of its own. */
export function superviseProgram(
  program: Program,
  env: NodeJS.ProcessEnv,
  own: Record<string, string | undefined>,
  log: Logger,
): RunningProgram {
  const stopping = new AbortController()
  const running = keepRunning(program, { ...withoutSecrets(env), ...own }, log, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

async function keepRunning(
  { command, name, without }: Program,
  env: NodeJS.ProcessEnv,
  log: Logger,
  stopping: AbortSignal,
): Promise<void> {
  await sleep(AFTER_MS, undefined, { signal: stopping }).catch(() => {})
  for (let failures = 0; !stopping.aborted; failures++) {
    const began = performance.now()
    const code = await runOnce(command, env, stopping)
    if (stopping.aborted) return
    if (code === BAD_SETTING) return log.error(`${name} does not start with these settings: ${without}`)
    if (performance.now() - began >= RAN_MS) failures = 0
    const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** failures)
    log.warn({ code, pauseMs }, `${name} has ended, and is started again`)
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
  }
}

/** Returns its exit code; null after a signal, undefined where it could not start. */
async function runOnce(
  command: string,
  env: NodeJS.ProcessEnv,
  stopping: AbortSignal,
): Promise<number | null | undefined> {
  const [program, ...words] = commandLine()
  // It ends when the channel closes, so it cannot outlive this process.
  const child = spawn(program!, [...words, command], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.channel?.unref()
  const ended = once(child, 'exit') as Promise<[number | null]>
  let last: NodeJS.Timeout | undefined
  const end = () => {
    if (child.connected) child.disconnect()
    last = setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MS)
  }
  stopping.addEventListener('abort', end, { once: true })
  if (stopping.aborted) end()
  try {
    return (await ended)[0]
  } catch {
    return undefined
  } finally {
    clearTimeout(last)
    stopping.removeEventListener('abort', end)
  }
}

/** The command line of this program, also as a single executable. */
function commandLine(): string[] {
  return isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1]!]
}

/** It opens no database, so it gets no secrets of one. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const settings: Record<string, Setting> = SETTINGS
  return Object.fromEntries(Object.entries(env).filter(([name]) => settings[name]?.secret !== true))
}

/** Calls `end` when the process that started this one over a channel has ended, also before. */
export function endWithParent(end: () => void): void {
  if (process.send === undefined) return
  process.once('disconnect', end)
  if (!process.connected) end()
}

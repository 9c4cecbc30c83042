/** Control groups of version 2 for sandboxes, where the service may make them. docs/sandbox.md: Limits. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Limits } from '../policy.ts'
import { isAbandoned } from '../run-directory.ts'

/** What limits sandboxes. Others of the machine are not asked for. */
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const
type Controller = (typeof CONTROLLERS)[number]

/** Of the programs around the command: pasta, `unshare`, two shells, bubblewrap. */
const OWN_PROCESSES = 16
/** A process that was killed stays in its group until the kernel has freed its memory. */
const [REMOVALS, REMOVAL_MS] = [100, 50]

/** The group of one sandbox. */
export type ControlGroup = {
  /** Puts a process into it, and with it what that process starts from then on. */
  add(pid: number): void
  /** Whether the kernel ended it because it needed more memory than it may have. */
  ranOutOfMemory(): boolean
  /** Ends everything in it and removes it. */
  remove(): Promise<void>
}

export type ControlGroups = {
  controllers: readonly Controller[]
  /** Creates a group with the name of a run directory. */
  create(name: string, limits: Limits): ControlGroup
}

let opened: Promise<ControlGroups | undefined> | undefined

/**
 * Returns the groups of this process, or undefined where none can be made. The first call moves this process and its children into a group of their
 * own next to those of sandboxes, because the kernel limits no group that has both processes and groups.
 */
export function controlGroups(): Promise<ControlGroups | undefined> {
  opened ??= openControlGroups(readProc('mountinfo'), readProc('cgroup')).catch(() => undefined)
  return opened
}

const NOT_LIMITED: Readonly<Record<Controller, string>> = {
  memory: 'memory',
  pids: 'the sum of processes and threads',
  cpu: 'processor time',
}

/** Returns what no group limits on this machine and what to do, as a sentence without a period, or undefined where all is limited. */
export async function unlimited(groups = controlGroups()): Promise<string | undefined> {
  const { controllers = [] } = (await groups) ?? {}
  const missing = CONTROLLERS.filter((name) => !controllers.includes(name)).map((name) => NOT_LIMITED[name])
  if (missing.length === 0) return undefined
  const what = missing.length === 1 ? missing[0] : `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)}`
  return `nothing limits ${what} of sandboxes: start the service by its unit, which has Delegate=yes, on a machine with control groups of version 2`
}

async function openControlGroups(mounts: string, own: string): Promise<ControlGroups | undefined> {
  const base = ownGroup(mounts, own)
  if (base === undefined || !isDelegated(base)) return undefined
  const service = join(base, 'service')
  // The root of the machine may have both.
  if (existsSync(join(base, 'cgroup.type'))) {
    mkdirSync(service, { recursive: true })
    // One of them may have ended. One that stays keeps the next step from working.
    for (const pid of processesOf(base)) attempt(() => tell(service, 'cgroup.procs', String(pid)))
  }
  for (const name of CONTROLLERS) attempt(() => tell(base, 'cgroup.subtree_control', `+${name}`))
  const enabled = wordsOf(base, 'cgroup.subtree_control')
  const controllers = CONTROLLERS.filter((name) => enabled.includes(name))
  if (controllers.length === 0) return undefined
  await removeAbandonedGroups(base)
  return { controllers, create: (name, limits) => createGroup(join(base, name), limits, controllers) }
}

/** Returns the directory of the group that this process is in, from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. Pure. */
export function ownGroup(mounts: string, own: string): string | undefined {
  const [, path] = /^0::(\/.*)$/m.exec(own) ?? []
  const [, root, mount] = /^\d+ \d+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(mounts) ?? []
  if (path === undefined || root === undefined || mount === undefined) return undefined
  if (root === '/') return resolve(mount, `.${path}`)
  return path === root || path.startsWith(`${root}/`) ? join(mount, path.slice(root.length)) : undefined
}

/** Whether this process may make groups there and everything in it is its own: root may write into groups that others manage. */
function isDelegated(base: string): boolean {
  if (!wordsOf(base, 'cgroup.controllers').some((word) => CONTROLLERS.some((name) => name === word))) return false
  const isWritable = ['', 'cgroup.procs', 'cgroup.subtree_control'].every(
    (file) => attempt(() => accessSync(join(base, file), constants.W_OK)) === undefined,
  )
  if (!isWritable) return false
  return !existsSync(join(base, 'cgroup.type')) || processesOf(base).every(isOwn)
}

/** Whether the process is this one, or was started by it. */
function isOwn(pid: number): boolean {
  for (let at = pid; at > 0; at = parentOf(at)) if (at === process.pid) return true
  return false
}

function parentOf(pid: number): number {
  const [, parent] = /^PPid:\t(\d+)$/m.exec(readProc('status', pid)) ?? []
  return Number(parent ?? 0)
}

function createGroup(path: string, limits: Limits, controllers: readonly Controller[]): ControlGroup {
  mkdirSync(path)
  /** TABLE controller → file → text. */
  const files: Record<Controller, Record<string, string>> = {
    memory: {
      'memory.max': String(limits.memoryBytes),
      'memory.swap.max': '0',
      // One process less would leave the others waiting for it.
      'memory.oom.group': '1',
    },
    pids: { 'pids.max': String(limits.processes + OWN_PROCESSES) },
    cpu: { 'cpu.weight': String(limits.processorWeight) },
  }
  for (const name of controllers)
    for (const [file, text] of Object.entries(files[name])) if (existsSync(join(path, file))) tell(path, file, text)
  return {
    add: (pid) => tell(path, 'cgroup.procs', String(pid)),
    ranOutOfMemory: () => controllers.includes('memory') && /^oom_kill [1-9]/m.test(textOf(path, 'memory.events')),
    remove: () => removeGroup(path),
  }
}

async function removeGroup(path: string): Promise<void> {
  attempt(() => tell(path, 'cgroup.kill', '1'))
  for (let removal = 0; removal < REMOVALS; removal++) {
    const error = await rmdir(path).catch((error: NodeJS.ErrnoException) => error)
    if (error?.code !== 'EBUSY') return
    await sleep(REMOVAL_MS)
  }
  throw new Error(`cannot remove the control group ${path}`)
}

/** Removes groups whose supervisor is gone. */
async function removeAbandonedGroups(base: string): Promise<void> {
  for (const name of readdirSync(base))
    if (await isAbandoned(name)) await removeGroup(join(base, name)).catch(() => undefined)
}

/** Writes to a file of the kernel, which is there already. */
function tell(group: string, file: string, text: string): void {
  const descriptor = openSync(join(group, file), constants.O_WRONLY)
  try {
    writeSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
}

function processesOf(group: string): number[] {
  return wordsOf(group, 'cgroup.procs').map(Number)
}

function wordsOf(group: string, file: string): string[] {
  return textOf(group, file).split(/\s+/).filter(Boolean)
}

function textOf(group: string, file: string): string {
  return readFileSync(join(group, file), 'utf8')
}

function readProc(file: string, pid: number | 'self' = 'self'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function attempt(work: () => void): unknown {
  try {
    return void work()
  } catch (error) {
    return error
  }
}

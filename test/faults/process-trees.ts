/** The processes of this machine as trees, and what of them is still there. Linux alone. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** `start`: in clock ticks after the boot, because the system uses process ids again. */
export type Process = { pid: number; parent: number; start: string; words: string[] }

/** Returns the processes that run now, by their ids. Those that have ended and wait for their parent are left out. */
export function readProcesses(): Map<number, Process> {
  const all = new Map<number, Process>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined
    if (stat === undefined) continue
    all.set(pid, { pid, ...stat, words: textOf(pid, 'cmdline').split('\0') })
  }
  return all
}

/** Returns a process and everything below it. */
export function treeOf(all: ReadonlyMap<number, Process>, pid: number): Process[] {
  const own = all.get(pid)
  if (own === undefined) return []
  const below = [...all.values()].filter(({ parent }) => parent === pid)
  return [own, ...below.flatMap((child) => treeOf(all, child.pid))]
}

/** Returns the processes above one, up to the child of `top`; the nearest first. */
export function aboveUpTo(all: ReadonlyMap<number, Process>, pid: number, top: number): Process[] {
  const above: Process[] = []
  for (let at = all.get(pid); at !== undefined && at.parent !== top; ) {
    at = all.get(at.parent)
    if (at !== undefined) above.push(at)
  }
  return above
}

/** Whether it is the same process, and has not ended. */
export function isAlive({ pid, start }: Process): boolean {
  return readStat(pid)?.start === start
}

/** Returns a namespace of a process as the system names it; undefined where it has ended. */
export function namespaceOf(pid: number, kind: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`)
  } catch {
    return undefined
  }
}

/** Ends a process at once, if it is there. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function readStat(pid: number): { parent: number; start: string } | undefined {
  const stat = textOf(pid, 'stat')
  // The name of the program stands in parentheses and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (stat === '' || fields[0] === 'Z' || fields[0] === 'X') return undefined
  return { parent: Number(fields[1]), start: fields[19]! }
}

function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

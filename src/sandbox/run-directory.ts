/** Directories of runs, named so that the next start recognizes those that a crash left, and others that users of sandboxes can enter. */
import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { randomText } from '../platform/base/ids.ts'

const NAME = /^[0-9a-f-]{36}\.(\d+)\.(\d+)\.[\w-]+$/

/** Creates a directory below `parent`, for this process. Returns its path. */
export async function createRunDirectory(parent: string): Promise<string> {
  const start = await startTimeOf(process.pid)
  return createReadableDirectory(join(parent, `${await bootId()}.${process.pid}.${start}.${randomText(16)}`))
}

/** Creates a directory that users of sandboxes can read, whatever the umask of the service. Returns its path. */
export async function createReadableDirectory(path: string): Promise<string> {
  await mkdir(path)
  await chmod(path, 0o755)
  return path
}

/** Creates directories that users of sandboxes can enter, and not list. */
export async function createEnterableDirectories(...paths: string[]): Promise<void> {
  for (const path of paths) {
    await mkdir(path, { recursive: true })
    await chmod(path, 0o711)
  }
}

/**
 * Removes the directory of a run, whatever its command left: paths longer than the kernel takes, and directories without rights. Throws where that
 * fails, with a message that names no path of the command.
 */
export async function removeRunDirectory(path: string): Promise<void> {
  // `rm` of the system goes down by descriptor. The library of Node.js goes by path.
  const script = `${process.getuid?.() === 0 ? '' : 'chmod -R u+rwX -- "$1" 2>/dev/null; '}exec rm -rf -- "$1"`
  await promisify(execFile)('/bin/sh', ['-c', script, 'sh', path]).catch(() => {
    throw new Error(`cannot remove ${path}`)
  })
}

/** Removes the directories below `parent` whose process is gone. Returns how many. One that cannot be removed stays. */
export async function removeAbandonedRuns(parent: string): Promise<number> {
  let removed = 0
  for (const name of await readdir(parent)) {
    if (!(await isAbandoned(name))) continue
    const isRemoved = await removeRunDirectory(join(parent, name)).then(
      () => true,
      () => false,
    )
    if (isRemoved) removed++
  }
  return removed
}

/** Whether the name is that of a run whose process is gone. */
export async function isAbandoned(name: string): Promise<boolean> {
  const [, pid, startTime] = NAME.exec(name) ?? []
  if (pid === undefined) return false
  return !name.startsWith(await bootId()) || (await startTimeOf(Number(pid))) !== startTime
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
}

/** In clock ticks after the boot: a process id is used again, the pair is not. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The name of the program stands in parentheses and may hold spaces: fields are counted behind it.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}

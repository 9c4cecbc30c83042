/** What a directory holds, counted by `du` of the system. docs/runner.md: Limits of a build. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export type DiskUsage = { bytes: number; files: number }

/** For a tree that does not end. */
const TIMEOUT_MS = 60_000
/** `du` goes down by descriptor, so it is not led astray by links, and no path is too long for it. It exits with 1 where something vanished meanwhile. */
const SCRIPT = `export LC_ALL=C
nice -n 10 du -sx --block-size=1 -- "$1"
nice -n 10 du -sx --inodes -- "$1"`

/** Counts bytes on disk, and files with directories and links. Undefined: `du` did not answer in time, or is not the one of GNU. */
export async function readDiskUsage(directory: string): Promise<DiskUsage | undefined> {
  const run = promisify(execFile)('/bin/sh', ['-c', SCRIPT, 'sh', directory], {
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 1024 * 1024,
  })
  const output = await run.then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout?: string }) => stdout ?? '',
  )
  const [bytes, files] = output.split('\n').map((line) => Number.parseInt(line, 10))
  if (bytes === undefined || files === undefined || Number.isNaN(bytes) || Number.isNaN(files)) return undefined
  return { bytes, files }
}

/** The program under strace, which sees every call to the system, and can make one fail. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { RunningService } from '../support/process.ts'
import { skipReason } from '../support/programs.ts'

const CALLS =
  'openat,pwrite64,pwritev,pwritev2,write,writev,fsync,fdatasync,ftruncate,unlink,unlinkat,rename,renameat,renameat2,link,linkat'

/** The words that start a program under strace, which then writes to `file`. */
export function traced(file: string, words: string[], more: string[] = []): string[] {
  const options = ['-f', '-yy', '-xx', '--seccomp-bpf', '-s', '4096', '-o', file, '-e', `trace=${CALLS}`]
  return ['strace', ...options, '-e', 'signal=none', ...more, ...words]
}

/** Why nothing can be traced here; undefined where it can. Throws as `lacking` does. */
export function whyNoStrace(): string | undefined {
  try {
    execFileSync('strace', ['-f', '--seccomp-bpf', '-e', 'trace=write', '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return skipReason('strace', 'strace', 'what reaches the disk')
    return 'strace may not trace here'
  }
}

/** Stops a program that runs under strace, which hands no signal on. */
export async function endTraced({ child }: RunningService): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve))
  const traced = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0]
  process.kill(Number(traced), 'SIGTERM')
  await closed
}

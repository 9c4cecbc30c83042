/** One command that is kept in. docs/sandbox.md. */
import type { Readable } from 'node:stream'
import type { Policy } from './policy.ts'

/** `signal` is of the outermost process: a command that a signal ended inside exits with 128 and the number of the signal. */
export type Exit = {
  code: number | null
  signal: NodeJS.Signals | null
  /** Only where a control group ended it for that: all of its processes at once. */
  ranOutOfMemory?: true
}

export type Sandbox = {
  /** Creates the directory of this run, which `destroy` removes. Must be called first, once. `insideWork`: what the command calls `workDirectory`. */
  prepare(): Promise<{ workDirectory: string; insideWork: string }>
  /**
   * What the command calls a path of the host that the policy mounts read-only: a path below `/host` where there are mounts, otherwise the path
   * itself. So callers write the same policy for both kinds. The same before and after `prepare`.
   */
  inside(path: string): string
  /** The same for what the policy mounts at a fixed place: that place where there are mounts, otherwise the path of the host. */
  mounted(place: string, path: string): string
  /** Starts the command, once. Throws for a prefix that is none. `wait` rejects where the first program cannot be started. */
  start(policy: Policy): void
  /** What the command writes to standard output and standard error, as one stream. Once started. */
  output(): Readable
  /** The first process on the host, above all others of the run. Once started. Undefined: it could not be started. */
  pid(): number | undefined
  /** Resolves once the command and everything that it started have ended. */
  wait(): Promise<Exit>
  /** Ends everything that runs and removes the directory. May be called at any time, and more than once. */
  destroy(): Promise<void>
}

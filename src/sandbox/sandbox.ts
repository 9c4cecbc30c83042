/** One command that is kept in. docs/sandbox.md. */
import type { Readable } from 'node:stream'
import type { Policy } from './policy.ts'

/** `signal` is of the outermost process: a command that a signal ended inside exits with 128 and the number of the signal. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type Sandbox = {
  /** Creates the directory of this run, which `destroy` removes. Must be called first, once. */
  prepare(): Promise<{ workDirectory: string }>
  /** Starts the command. Throws where the first process cannot be started. */
  start(policy: Policy): void
  /** What the command writes to standard output and standard error, as one stream. */
  output(): Readable
  /** Resolves once the command and everything that it started have ended. */
  wait(): Promise<Exit>
  /** Ends everything that runs and removes the directory. May be called at any time, and more than once. */
  destroy(): Promise<void>
}

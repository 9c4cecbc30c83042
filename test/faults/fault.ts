/** What a fault is, and what is written down about it. `npm run test:faults` runs the list of them; docs/faults.md. */
import type { Cleanup } from '../support/process.ts'
import type { Engine } from '../support/world.ts'

/** What came of a fault on an engine: a line of the table. */
export type Found = {
  cycles: number
  /** Writes that were answered with success. */
  acknowledged: number
  /** Of those, how many the store does not show. */
  lost: number
  /** Things that are neither as they were nor as they should be. */
  halfDone: number
  /** From the end of each fault to the first answer. */
  recoveriesMs: number[]
  /** Every promise that was broken, in words. */
  broken: string[]
  notes: string[]
}

/** What a fault may use while it runs. */
export type Run = Cleanup & {
  /** No promise is about how long a start takes on a busy machine: the slowest is in the table. */
  timeoutMs: number
  short: boolean
  engine: Engine
  found: Found
  say(line: string): void
  /** False once it has taken half of the time that was left when it began: a loop then ends with what it has. */
  hasTime(): boolean
}

export type Fault = {
  name: string
  engines: readonly Engine[]
  /** Throws when a promise is broken in a way that leaves nothing more to see; else adds to `broken`. */
  run(run: Run): Promise<void>
  /** Why it cannot be made on this machine; undefined where it can. */
  cannot?: () => string | undefined
}

/** Runs a cycle again and again: as often as wanted, while there is time, and once at least. */
export async function repeat(run: Run, wanted: number, cycle: (at: number) => Promise<void>): Promise<void> {
  const { found } = run
  const before = found.cycles
  while (found.cycles - before < wanted && (found.cycles === before || run.hasTime())) {
    await cycle(found.cycles - before)
    found.cycles++
    if (found.broken.length > 20) throw new Error('stopped after 20 broken promises')
  }
  const made = found.cycles - before
  if (made < wanted) found.notes.push(`only ${made} of ${wanted} cycles in the time`)
}

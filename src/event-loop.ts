import { setTimeout as sleep } from 'node:timers/promises'

let turn: { began: number; end: Promise<void> } | undefined

function thisTurn(): { began: number; end: Promise<void> } {
  turn ??= {
    began: performance.now(),
    end: new Promise((resolve) => {
      setImmediate(() => {
        turn = undefined
        resolve()
      })
    }),
  }
  return turn
}

/** Answers that were made in one turn of the event loop leave together: a write that wakes a waiting client costs more than the answer. */
export function endOfTurn(): Promise<void> {
  return thisTurn().end
}

/** For how many ms this turn of the event loop has been busy with requests. */
export function turnLastedMs(): number {
  return performance.now() - thisTurn().began
}

/** Resolves once nothing is left to do at once: what was begun has ended, or waits for something outside this turn. */
export function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** Work that takes longer lets others in between, and for how long. */
const LONGEST_AT_ONCE_MS = 3
const PAUSE_MS = 1

/**
 * Makes something of each, one after another. Where that takes long, others run in between: for a while and not for one turn of the
 * event loop, in which it accepts one connection.
 */
export async function mapInTurns<T, R>(all: readonly T[], make: (one: T) => R | Promise<R>): Promise<R[]> {
  const made: R[] = []
  let began = performance.now()
  for (const one of all) {
    made.push(await make(one))
    if (performance.now() - began < LONGEST_AT_ONCE_MS) continue
    await sleep(PAUSE_MS)
    began = performance.now()
  }
  return made
}

/** Taking turns: work of one name runs one after another, in the order it came; other names do not wait. */
import { refuse } from '../errors.ts'

/** More than this waiting in one line is more than anyone waits for. */
const LONGEST_LINE = 1000

/** Gives what runs work in turn; without a name it runs at once. Refuses: busy 503, when the line is too long. */
export function takeTurns(): <T>(name: string | undefined, run: () => Promise<T>) => Promise<T> {
  const lines = new Map<string, { last: Promise<unknown>; length: number }>()
  return async (name, run) => {
    if (name === undefined) return run()
    const line = lines.get(name) ?? { last: Promise.resolve(), length: 0 }
    if (line.length >= LONGEST_LINE) refuse('busy')
    lines.set(name, line)
    line.length++
    const mine = line.last.then(run)
    line.last = mine.catch(() => {})
    try {
      return await mine
    } finally {
      line.length--
      if (line.length === 0) lines.delete(name)
    }
  }
}

/** How much of the event loop an account may use with what costs little and comes often. docs/data-cache.md: Protocol; docs/functions.md: Pace. */
import type { Readable } from 'node:stream'

const SWEPT_ABOVE = 10_000

/** Notes units of an account, and returns how many ms it waits after them. */
export type Pace = (account: string, units: number) => number

/** Creates a pace of `perSecond` units, as many at once. */
export function createPace(perSecond: number, now: () => number): Pace {
  const debts = new Map<string, { owed: number; at: number }>()
  const owedNow = ({ owed, at }: { owed: number; at: number }) =>
    Math.max(0, owed - (Math.max(0, now() - at) * perSecond) / 1000)
  return (account, units) => {
    const before = debts.get(account)
    const owed = (before === undefined ? 0 : owedNow(before)) + units
    debts.set(account, { owed, at: now() })
    if (debts.size > SWEPT_ABOVE) for (const [name, debt] of debts) if (owedNow(debt) === 0) debts.delete(name)
    return Math.max(0, ((owed - perSecond) * 1000) / perSecond)
  }
}

/** Reads a stream of text. `read` returns the units of a piece, `owe` how many ms the stream waits for them. */
export function readPaced(stream: Readable, read: (text: string) => number, owe: (units: number) => number): void {
  stream.setEncoding('utf8').on('data', (text: string) => {
    const waitMs = owe(read(text))
    if (waitMs <= 0) return
    stream.pause()
    setTimeout(() => stream.resume(), waitMs).unref()
  })
}

/** How much of the event loop an account may use with small requests. Pure but for its state. docs/data-cache.md: Protocol. */

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

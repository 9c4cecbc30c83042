/** Rounds that alternate, so that a neighbour's noise falls on both sides, and the median of each figure. */
import type { Target } from './children.ts'
import type { Figures, Loader } from './load.ts'

/** What is loaded. `creates`: each request makes a project of a new name. */
export type Case = { name: string; title: string; path: string; connections: number; creates: boolean }

export type Spread = { median: number; low: number; high: number }

type Rounds = { loader: Loader; seconds: number; say: (line: string) => void }

const ROUNDS = 3
const WARM_UP_SECONDS = 1
let loads = 0

/**
 * Loads both targets in turn, after a warm-up of each; who goes first changes from round to round. Gives the figures of
 * each, round by round. `between` runs once a round, while neither is loaded.
 */
export async function alternate(
  { loader, seconds, say }: Rounds,
  loaded: Case,
  targets: readonly [Target, Target],
  between?: () => void,
): Promise<[Figures[], Figures[]]> {
  const figures: [Figures[], Figures[]] = [[], []]
  const run = ({ origin, token }: Target, length: number) => {
    const { path, connections, creates } = loaded
    const load = { origin, token, path, connections, seconds: length }
    return loader.run(creates ? { ...load, names: newNames() } : load)
  }
  for (const target of targets) await run(target, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round++) {
    say(`${loaded.name}: round ${round + 1} of ${ROUNDS}`)
    for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      figures[side].push(await run(targets[side], seconds))
    }
    between?.()
  }
  return figures
}

/** The beginning of names that no load of this run has used; always of one length. */
export function newNames(): string {
  return `b${String(++loads).padStart(5, '0')}`
}

/** The median of each figure; errors are added up. */
export function medians(rounds: Figures[]): Figures {
  const middle = (of: (figures: Figures) => number) => spread(rounds.map(of)).median
  return {
    perSecond: middle((figures) => figures.perSecond),
    p50: middle((figures) => figures.p50),
    p99: middle((figures) => figures.p99),
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
  }
}

/** How much more a second one side did than the other, round by round. */
export function ratios(ours: Figures[], theirs: { perSecond: number }[]): Spread {
  return spread(ours.map(({ perSecond }, round) => perSecond / theirs[round]!.perSecond))
}

/** Of an odd number of values. */
export function spread(values: number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1]!, low: sorted[0]!, high: sorted.at(-1)! }
}

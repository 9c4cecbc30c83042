/** Rounds that alternate, so that a neighbor's noise falls on all sides, and the median of each figure. */
import type { Asked } from './asked.ts'
import type { Figures, Loader } from './load.ts'

export type Spread = { median: number; low: number; high: number }

/**
 * What is loaded in a round, and what it is asked. `beside`: starts background work during the load, and returns a function that stops it.
 * `processorTime`: what the server has used, in microseconds.
 */
export type Side = {
  origin: string
  asked: () => Promise<Asked>
  beside?: () => () => Promise<void>
  processorTime?: () => number | undefined
}

type Rounds = { loader: Loader; seconds: number; rounds?: number; say: (line: string) => void }

const ROUNDS = 3
const WARM_UP_SECONDS = 1
let loads = 0

/**
 * Loads all sides in turn, after a warm-up of each; who goes first changes from round to round. Gives the figures of
 * each, round by round. `between` runs once a round, while none is loaded.
 */
export async function alternate(
  { loader, seconds, rounds = ROUNDS, say }: Rounds,
  { name, connections }: { name: string; connections: number },
  sides: readonly Side[],
  between?: () => void,
): Promise<Figures[][]> {
  const figures: Figures[][] = sides.map(() => [])
  const run = async ({ origin, asked, beside, processorTime }: Side, length: number) => {
    const load = { origin, asked: await asked(), connections, seconds: length }
    const end = beside?.()
    const before = processorTime?.()
    const seen = await loader.run(load)
    const used = before === undefined ? undefined : processorTime!()! - before
    await end?.()
    return { ...seen, processor: used && used / (seen.perSecond * length) }
  }
  for (const side of sides) await run(side, WARM_UP_SECONDS)
  for (let round = 0; round < rounds; round++) {
    say(`${name}: round ${round + 1} of ${rounds}`)
    for (let turn = 0; turn < sides.length; turn++) {
      const at = (turn + round) % sides.length
      figures[at]!.push(await run(sides[at]!, seconds))
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
    processor: rounds.every(({ processor }) => processor) ? middle((figures) => figures.processor!) : undefined,
  }
}

/** How much more a second one side did than the other, round by round. */
export function ratios(ours: Figures[], theirs: { perSecond: number }[]): Spread {
  return spread(ours.map(({ perSecond }, round) => perSecond / theirs[round]!.perSecond))
}

/** How much more processor time one side took for a request than the other, round by round. */
export function processorRatios(ours: Figures[], theirs: Figures[]): Spread | undefined {
  if (![...ours, ...theirs].every(({ processor }) => processor)) return undefined
  return spread(ours.map(({ processor }, round) => processor! / theirs[round]!.processor!))
}

/** The median is the higher of the two in the middle where their number is even. */
export function spread(values: number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1]!, low: sorted[0]!, high: sorted.at(-1)! }
}

/** What `npm run test:attacks` says to its tests: how much to do, from which seed, and where figures go. */
import { appendFileSync } from 'node:fs'

/** The whole of it, or the short form that `npm run verify` has time for. */
export const FULL = process.env.BERTH_ATTACKS === 'full'

/** The same seed asks the same; ids and secrets are the service's own, and other ones each time. */
export const SEED = Number(process.env.BERTH_ATTACKS_SEED ?? 20_261_121)

/** A line that the run prints at its end. */
export function sayFigure(line: string): void {
  const file = process.env.BERTH_ATTACKS_FIGURES
  if (file === undefined) console.log(line)
  else appendFileSync(file, `${line}\n`)
}

/** What a run of mutants prints. */
import { type Kept, keptOf } from './kept.ts'
import type { Mutant } from './mutants.ts'
import type { Result } from './results.ts'

export type Summary = {
  text: string
  /** Mutants that survived and are not kept with a reason. */
  survivors: Result[]
}

/** A mutant as a diff. */
export function diffOf({ file, line, before, after }: Mutant): string {
  return `${file}:${line}\n  - ${before.trim()}\n  + ${after.trim()}\n`
}

/** The counts, and each mutant that survived. What neither compiles nor loads, and what is equivalent, is not in the share. */
export function summaryOf(results: readonly Result[], kept: readonly Kept[]): Summary {
  const of = Map.groupBy(results, ({ outcome }) => outcome)
  const count = (outcome: Result['outcome']) => of.get(outcome)?.length ?? 0
  const passed = [...(of.get('survived') ?? []), ...(of.get('not covered') ?? [])]
  const equivalent = passed.filter((result) => keptOf(kept, result)?.equivalent)
  const known = passed.filter((result) => keptOf(kept, result)?.equivalent === false)
  const survivors = passed.filter((result) => keptOf(kept, result) === undefined)
  const judged = count('killed') + passed.length - equivalent.length
  const share = judged === 0 ? '' : ` (${((100 * count('killed')) / judged).toFixed(1)} %)`
  const lines = [
    ...survivors.map((result) => `${result.outcome}: ${diffOf(result)}`),
    ...known.map((result) => `survived, as is known: ${diffOf(result)}  ${keptOf(kept, result)!.reason}\n`),
    ...equivalent.map((result) => `equivalent: ${diffOf(result)}  ${keptOf(kept, result)!.reason}\n`),
    `${count('killed')} of ${judged} killed${share}, ${survivors.length + known.length} survived, of which no test executes ${
      [...survivors, ...known].filter(({ outcome }) => outcome === 'not covered').length
    } and ${known.length} are known.`,
    `Apart: ${equivalent.length} equivalent, ${count('does not compile')} that do not compile, ${count('cannot load')} with which the service cannot be loaded.`,
  ]
  return { text: `${lines.join('\n')}\n`, survivors }
}

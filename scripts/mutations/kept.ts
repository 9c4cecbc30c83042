/** Mutants that may survive, each with the reason: `kept.json`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Mutant, nameOf } from './mutants.ts'

/**
 * `file`: its name; it may move to another folder. `before`, `after`: the line, without the spaces around it. `equivalent`: no test could distinguish
 * it from its original, so it counts for nothing; otherwise it counts as survived, and does not fail a run.
 */
export type Kept = { file: string; before: string; after: string; equivalent: boolean; reason: string }

/** Those of the repository. */
export function readKept(file = join(import.meta.dirname, 'kept.json')): Kept[] {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** What is kept of this mutant. */
export function keptOf(kept: readonly Kept[], mutant: Mutant): Kept | undefined {
  const name = nameOf(mutant)
  return kept.find((entry) => nameOf(entry) === name)
}

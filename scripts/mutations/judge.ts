/** What the tests say of one mutant. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { affordable, type CoverageMap } from '../test/coverage/covering.ts'
import type { Lane } from './lane.ts'
import { type Mutant, mutate } from './mutants.ts'
import type { Result, Results } from './results.ts'

/** A test file may take this many times what it took when the map was recorded, and this much more: a mutant that loops is given up then. */
const TIMES_AS_LONG = 5
export const MORE_MS = 60_000

/** Judges a mutant in a lane: the test files that are asked of it run until one fails. */
export type Judge = (lane: Lane, mutant: Mutant) => Promise<Result>

/**
 * The test files that are asked of a mutant: the likeliest of those that execute its line, as many as took `seconds` together when they were
 * recorded, and one in any case.
 */
export function askedOf(map: CoverageMap, { file, line }: Mutant, seconds: number): string[] {
  const { tests } = map.covering(file, [line])
  const asked = affordable(map, tests, seconds)
  return asked.length === 0 ? tests.slice(0, 1) : asked
}

/**
 * A judge by this map. `seconds`: of askedOf. `moreMs`: what a file may take beyond five times what it took then. A test file kills only if it passes without the mutant: the first time that one kills, it runs again over the
 * sources as they are. One that fails then is named by `print`, and asked no more.
 */
export function judgeBy(
  root: string,
  map: CoverageMap,
  results: Results,
  seconds: number,
  moreMs: number,
  print: (line: string) => void,
): Judge {
  const passes = new Map<string, Promise<boolean>>()
  const limitMs = (test: string) => (map.entries.get(test)?.seconds ?? 0) * 1000 * TIMES_AS_LONG + moreMs

  /** Asked once for each file; two lanes may wait for the same answer. */
  function passesWithout(lane: Lane, test: string): Promise<boolean> {
    const known = passes.get(test)
    if (known !== undefined) return known
    const asked = lane.run([test], limitMs).then((ran) => {
      if (ran.how !== 'passed') print(`${test} fails without any mutant, so it is not asked: ${ran.because}`)
      return ran.how === 'passed'
    })
    passes.set(test, asked)
    return asked
  }

  return async (lane, mutant) => {
    const tests = askedOf(map, mutant, seconds)
    if (tests.length === 0) return results.keep(mutant, { outcome: 'not covered', because: '', tests })
    const text = mutate(readFileSync(join(root, mutant.file), 'utf8'), mutant)
    let left = tests
    while (left.length > 0) {
      const ran = await lane.run(left, limitMs, { file: mutant.file, text })
      if (ran.how === 'passed') break
      if (ran.how === 'cannot load')
        return results.keep(mutant, { outcome: 'cannot load', because: ran.because, tests: [] })
      const because = ran.how === 'failed' ? ran.because : `${ran.test}: ${ran.because}`
      if (await passesWithout(lane, ran.test))
        return results.keep(mutant, { outcome: 'killed', because, tests: [ran.test] })
      left = left.slice(left.indexOf(ran.test) + 1)
    }
    return results.keep(mutant, { outcome: 'survived', because: '', tests })
  }
}

/**
 * Which tests `npm test` runs on SQLite alone, and leaves to `.ci/run` on PostgreSQL. docs/testing.md: PostgreSQL in npm test.
 */

export const ENGINES = ['sqlite', 'postgres'] as const
export type Engine = (typeof ENGINES)[number]

/**
 * TABLE folders whose tests `npm test` runs on PostgreSQL too: the store itself, every operation over it, and what follows its changes.
 * The SQL of the other folders is asked by these, and whole in `.ci/run`.
 */
const ON_POSTGRES = ['platform/db', 'platform/http', 'platform/outbox']

/** Beside such a skipped test. scripts/test/report.ts counts them. */
export const LEFT_TO_CI = 'on PostgreSQL in .ci/run'

/** Whether `npm test` leaves a test on this engine to `.ci/run`. `file`: where it lies, from the root. */
export function isLeftToCi(engine: Engine, file: string): boolean {
  return engine === 'postgres' && !ON_POSTGRES.some((folder) => file.startsWith(`test/${folder}/`))
}

const isQuickRun = process.env.BERTH_TEST_ENGINES === 'quick'

/** Why the test that is registered now is skipped on this engine, if `npm test` runs without a file and leaves it to `.ci/run`. */
export function skipInQuickRun(engine: Engine): string | false {
  return isQuickRun && isLeftToCi(engine, callingFile()) ? LEFT_TO_CI : false
}

const isByTurns = process.env.BERTH_TEST_ENGINES === 'turns'

let turn = 0

/** The engines on which the test runs that is registered now: both, or one after the other with `BERTH_TEST_ENGINES=turns`. */
export function enginesOfNext(): readonly Engine[] {
  if (!isByTurns) return ENGINES
  // A file of one test begins by its name, so that not all of those run on the same engine.
  if (turn === 0) turn = callingFile().length
  return [ENGINES[turn++ % ENGINES.length]!]
}

/** The test file that calls, from the root; '' where it is none. */
export function callingFile(): string {
  return /\/(test\/\S+?\.test\.ts)/.exec(new Error().stack ?? '')?.[1] ?? ''
}

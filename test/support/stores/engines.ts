/** On which engines a test runs in `npm test`, and on which in `npm run verify` alone. docs/testing.md: Both engines. */

export const ENGINES = ['sqlite', 'postgres'] as const
export type Engine = (typeof ENGINES)[number]

/**
 * TABLE Folders whose tests run on both engines in `npm test`: their code writes SQL by hand, takes locks, or subscribes to changes of other
 * instances. The other folders reach the store through these. `npm run verify -- --only engines` runs every test on both.
 */
const ON_BOTH = [
  'platform/access',
  'platform/db',
  'platform/http',
  'platform/limiter',
  'platform/outbox',
  'projects/domain-verification',
  'projects/env',
  'projects/transfer',
  'integrations/installations',
  'integrations/oauth',
  'operations/edge',
  'delivery/deploys',
  'delivery/files',
]

/**
 * TABLE Files in these folders whose tests compare every operation with a table of rights or paths. Which engine lies below changes none of
 * what they compare, and the operations themselves are tested on both elsewhere.
 */
const ON_ONE = [
  'platform/access/deploy-plane',
  'platform/access/scopes',
  'platform/access/side-effects',
  'platform/http/routes',
]

/** Why such a test is skipped. scripts/test/report.ts counts them in one line. */
export const LEFT_TO_VERIFY = 'on PostgreSQL in npm run verify'

/** Set by scripts/test.ts: `quick` in a run of all files, else `both`. */
const isQuick = process.env.BERTH_TEST_ENGINES === 'quick'

/** Why the test that is registered now is skipped on this engine; false where it runs. A test of PostgreSQL alone always runs. */
export function skipOn(engine: Engine, engines: readonly Engine[] = ENGINES): string | false {
  const isLeft = isQuick && engine === 'postgres' && engines.includes('sqlite') && !isOnBoth(callingFile())
  return isLeft ? LEFT_TO_VERIFY : false
}

/** Whether the tests of this file, named from the root, run on both engines in `npm test`. */
export function isOnBoth(file: string): boolean {
  if (ON_ONE.some((name) => file === `test/${name}.test.ts`)) return false
  return ON_BOTH.some((folder) => file.startsWith(`test/${folder}/`))
}

const isByTurns = process.env.BERTH_TEST_ENGINES === 'turns'

let turn = 0

/** The engines of the test that is registered now: both, or alternately one with `BERTH_TEST_ENGINES=turns`. */
export function enginesOfNext(): readonly Engine[] {
  if (!isByTurns) return ENGINES
  // A file of one test begins by its name, so that not all of those run on the same engine.
  if (turn === 0) turn = callingFile().length
  return [ENGINES[turn++ % ENGINES.length]!]
}

/** The test file that calls, from the root; '' where it is none. */
function callingFile(): string {
  return /\/(test\/\S+?\.test\.ts)/.exec(new Error().stack ?? '')?.[1] ?? ''
}

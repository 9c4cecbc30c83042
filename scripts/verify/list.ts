/** TABLE The parts of `npm run verify`. docs/testing.md and .github/workflows/verify.yml name the same. */
import type { Part } from './parts.ts'

/** `minutes`: about twice what it takes on two quiet cores. */
const npm = (name: string, what: string, minutes: number, ...words: string[]): Part & { what: string } => ({
  name,
  what,
  minutes,
  words: ['npm', 'run', ...words],
})

export const PARTS: readonly (Part & { what: string })[] = [
  {
    ...npm(
      'engines',
      'every test of npm test on both engines, with many rounds of what waits for rare luck',
      90,
      'test',
    ),
    env: { BERTH_TEST_ENGINES: 'both', BERTH_TEST_ROUNDS: 'many' },
  },
  npm('attacks', 'made-up requests, foreign accounts, and every bound on time', 40, 'test:attacks', '--', '--short'),
  npm('clients', 'the clients that users have, as they are published', 40, 'test:clients'),
  npm('long', '*.long.test.ts: kills, real proxies, a browser, backups under load', 60, 'test:long'),
  npm('faults', 'power cuts, kills, full disks', 15, 'test:faults', '--', '--short'),
  npm('failover', 'the leader of a PostgreSQL cluster fails under load', 15, 'test:failover', '--', '--short'),
  npm(
    'sandbox',
    'attacks from inside a sandbox, each with its control, and 500 killed supervisors',
    15,
    'test:sandbox',
  ),
  npm('release', 'what users get: package, executables, images', 30, 'release', '--', '--no-tests'),
  npm('bench', 'the figures of the edge with 100,000 domains', 20, 'bench', '--', '--only', 'check'),
  npm(
    'mutations',
    'whether the tests notice a change of the lines that changed since the last release',
    90,
    ...['test:mutations', '--', '--since', 'release', '--minutes', '40', '--seconds', '60', '--resume'],
  ),
]

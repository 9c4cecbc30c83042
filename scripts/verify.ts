/**
 * `npm run verify`: what the gate (`.ci/run`) has no time for, its parts one after another. The last lines name those that failed. Ends with 1
 * when a part failed. docs/testing.md.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { WITH_SBIN } from '../test/support/programs.ts'
import { type Part, runParts } from './ci/parts.ts'

/** Every program is there, also those of system administrators; one that is missing fails its part. */
const ENV = { BERTH_TEST_PROGRAMS: 'all', PATH: WITH_SBIN }

const npm = (name: string, ...words: string[]): Part => ({
  name,
  words: ['npm', 'run', name, ...words],
  env: ENV,
})

/** Made-up requests, other accounts' things, planted secrets, and every bound on time: alone on the machine. docs/threats.md. */
const attacks = npm('test:attacks', '--', '--short')
/** The clients people own, as they are published; docs/clients.md. */
const clients = npm('test:clients')
/** Power cuts, kills and all the others in short; docs/faults.md. A broken promise fails the run. */
const faults = npm('test:faults', '--', '--short')
/** The leader of a PostgreSQL cluster fails under load; docs/scaling.md. It mostly waits. */
const failover = npm('test:failover', '--', '--short')
/** Kills, real proxies, a real browser, backups under load: *.long.test.ts; docs/testing.md. */
const long = npm('test:long')
/** Every test of npm test on both engines, and many rounds of what waits for rare luck. */
const engines: Part = {
  name: 'engines',
  words: ['npm', 'test'],
  env: { ...ENV, BERTH_TEST_ENGINES: 'both', BERTH_TEST_ROUNDS: 'many' },
}

spawnSync('bash', [join(import.meta.dirname, 'verify', 'install-programs.sh')], { stdio: 'inherit' })
process.exitCode = await runParts([attacks, clients, long, faults, failover, engines])

/**
 * What `.ci/run` does once everything is installed: its parts, one after another. Side by side the clients and the check took as long as
 * one after the other on two cores, and tests that wait for luck failed. The check is
 * the last: the last lines are the summary of `npm test`. Ends with 1 when a part failed.
 */
import { type Part, runParts } from './ci/parts.ts'

const npm = (name: string, ...words: string[]): Part => ({ name, words: ['npm', 'run', name, ...words] })

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
/** What waits for rare luck is tried often here, and a few times in npm test; docs/testing.md. */
const check: Part = { ...npm('check'), env: { BERTH_TEST_ROUNDS: 'many' } }

process.exitCode = await runParts([attacks, clients, long, faults, failover, check])

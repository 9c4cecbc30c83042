/**
 * What `.ci/run` does once everything is installed: its parts, one after another. Side by side the clients and the check took as long as
 * one after the other on two cores, and tests that wait for luck failed. The mutations come after the check, whose run of the tests records
 * what they need, and print no counts: the last lines are the summary of `npm test`. Ends with 1 when a part failed.
 */
import { join } from 'node:path'
import { type Part, runParts } from './ci/parts.ts'
import { COVERAGE } from './test/coverage/record.ts'
import { coverageFolder } from './test/coverage/store.ts'

/** `minutes`: about twice what it takes on two quiet cores, so that one that hangs leaves the others their time. */
const npm = (name: string, minutes: number, ...words: string[]): Part => ({
  name,
  minutes,
  words: ['npm', 'run', name, ...words],
})

/** Made-up requests, other accounts' things, planted secrets, and every bound on time: alone on the machine. docs/threats.md. */
const attacks = npm('test:attacks', 20, '--', '--short')
/** The clients people own, as they are published: those that most have, and the newest; docs/clients.md. */
const clients = npm('test:clients', 20, '--', '--short')
/** Power cuts, kills and all the others in short; docs/faults.md. A broken promise fails the run. */
const faults = npm('test:faults', 12, '--', '--short')
/** The leader of a PostgreSQL cluster fails under load; docs/scaling.md. It mostly waits. */
const failover = npm('test:failover', 8, '--', '--short')
/** Kills, real proxies, a real browser, backups under load: *.long.test.ts, with a few rounds of what waits for rare luck; docs/testing.md. */
const long = npm('test:long', 30)
/** All tests run on both engines. It records which test executes what. docs/testing.md. */
const map = coverageFolder(join(import.meta.dirname, '..'))
const check: Part = { ...npm('check', 40, '--', '--full'), env: { [COVERAGE]: map } }
/** Whether the tests notice a change of the lines that changed since the last release: as many as three minutes allow. docs/testing.md. */
const mutations = npm('test:mutations', 10, '--', '--since', 'release', '--minutes', '3', '--no-record', '--resume')

process.exitCode = await runParts([attacks, clients, long, faults, failover, check, mutations])

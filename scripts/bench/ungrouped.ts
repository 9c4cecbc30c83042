/** The service as it is, but with one transaction and one fsync per create: what group commit is measured against. */
import { readConfig } from '../../src/config.ts'
import { start } from '../../src/processes/start.ts'

await start(readConfig(process.env), process.env, { groupLimit: 1 })

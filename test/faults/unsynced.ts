/** The service as it is, but for the log that is not synced at a commit: with it the power cuts must find losses. */
import { readConfig } from '../../src/config.ts'
import { start } from '../../src/processes/start.ts'

await start(readConfig(process.env), process.env, { synchronous: 'NORMAL' })

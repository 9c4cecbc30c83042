/** The service as it is, but with one transaction and one fsync per create: what group commit is measured against. */
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { readConfig } = await import('../../src/config.ts')
const { start } = await import('../../src/start.ts')

await start(readConfig(process.env), { groupLimit: 1 })

/** A sites server as it is, but for its processes, which do not watch it: with it a kill must leave some. */
import { readConfig } from '../../src/config.ts'
import { breakSource } from './broken-source.ts'

breakSource('sandbox/init-script.ts', 'read -r line <&7; ', 'exec sleep 0; ')
const { startSites } = await import('../../src/processes/start-sites.ts')
await startSites(readConfig(process.env), process.env)

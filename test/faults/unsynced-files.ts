/** The service as it is, but for files of deployments that are not synced before they have their names: with it the power cuts must find losses. */
import { startBroken } from './broken-source.ts'

await startBroken('platform/adapters/atomic-file.ts', 'await handle.sync()', '')

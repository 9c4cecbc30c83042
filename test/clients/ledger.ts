/** What the clients were seen to do: each test notes it here, and the run writes docs/clients.md from it. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { IN_SHORT, SDK_VERSIONS } from '../../scripts/clients.ts'

/**
 * `works` (with `why`: but the client makes less of it than was answered), `absent` (this client has no such operation) or
 * `differs`: it does not work. `why` is the sentence that a reader gets.
 */
export type Seen = { client: string; operation: string; engine: string } & (
  | { outcome: 'absent' }
  | { outcome: 'works'; why?: string | undefined }
  | { outcome: 'differs'; why: string }
)

/** Notes one cell of the table. Needs the run that `npm run test:clients` makes. */
export function note(seen: Seen): void {
  const file = process.env.BERTH_CLIENTS_LEDGER
  if (file === undefined) throw new Error('run these by: npm run test:clients')
  appendFileSync(file, `${JSON.stringify(seen)}\n`)
}

/** Whether this run is not the short one. */
export const isWhole = process.env.BERTH_CLIENTS_SHORT === undefined

/** The SDKs that this run drives, oldest first. */
export const DRIVEN_SDKS = SDK_VERSIONS.filter((version) => isDriven(`sdk-${version}`))

/** Whether this run drives a client, `name` as in scripts/clients.ts. */
export function isDriven(name: string): boolean {
  return isWhole || IN_SHORT.has(name)
}

/** The folder that a client is installed in, `name` as in scripts/clients.ts: `sdk-1.1.0`, `cli-64.0.2`. */
export function folderOf(name: string): string {
  const cache = process.env.BERTH_CLIENTS
  if (cache === undefined) throw new Error('run these by: npm run test:clients')
  return join(cache, name, 'node_modules')
}

/** Ids of requests to functions, in the form that clients know. docs/functions.md: Requests. */
import { randomText } from '../../platform/base/ids.ts'

/** The name of the place where functions run. */
const PLACE = 'ber1'

/** Returns a new id, such as `ber1::x7k2p-1794000000000-0a1b2c3d4e5f`. */
export function newRequestId(now = Date.now()): string {
  return `${PLACE}::${randomText(5).toLowerCase()}-${now}-${randomText(12).toLowerCase()}`
}

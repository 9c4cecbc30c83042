import { state } from '../../platform/pages/face/states.ts'
import type { Html } from '../../platform/pages/html.ts'

/** Renders whether a user has a second factor. */
export function secondFactorState(has: boolean): Html {
  return has ? state('good', 'On') : state('idle', 'Off')
}

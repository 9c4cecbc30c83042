/** A form that was refused. docs/console.md: How it is built. */
import type { RefusalKey } from '../errors.ts'
import type { RefusalExtra } from '../platform/refusals/error-body.ts'

/** Why a form was refused, the field that it is about, what was typed, and what the route tells beside the sentence. */
export type Refused = {
  key?: RefusalKey
  message: string
  field: string | undefined
  typed: Record<string, unknown>
  extra: RefusalExtra
}

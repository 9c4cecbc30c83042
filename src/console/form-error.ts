import type { RefusalKey } from '../errors.ts'
import type { RefusalExtra } from '../platform/refusals/error-body.ts'

/** A form error: message, field, submitted values, and the extra fields of the error response. */
export type FormError = {
  key?: RefusalKey
  message: string
  field: string | undefined
  typed: Record<string, unknown>
  extra: RefusalExtra
}

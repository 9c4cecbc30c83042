/** What visitors get where a function does not answer. docs/functions.md: Errors. */
import type { FunctionSpec } from './function-spec.ts'

/** TABLE codes of `x-vercel-error` → status. */
export const FUNCTION_ERRORS = {
  FUNCTION_INVOCATION_FAILED: 500,
  NO_RESPONSE_FROM_FUNCTION: 502,
  FUNCTION_INVOCATION_TIMEOUT: 504,
  FUNCTION_PAYLOAD_TOO_LARGE: 413,
  FUNCTION_RESPONSE_PAYLOAD_TOO_LARGE: 500,
  FUNCTION_THROTTLED: 503,
  EDGE_FUNCTION_INVOCATION_FAILED: 500,
  EDGE_FUNCTION_INVOCATION_TIMEOUT: 504,
  MIDDLEWARE_INVOCATION_FAILED: 500,
  MIDDLEWARE_INVOCATION_TIMEOUT: 504,
  INTERNAL_FUNCTION_SERVICE_UNAVAILABLE: 503,
} as const

export type FunctionError = keyof typeof FUNCTION_ERRORS

/** A request that a function does not answer. The message is for the log of the function. */
export class FunctionFailure extends Error {
  readonly code: FunctionError

  constructor(code: FunctionError, message: string = code, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** TABLE error → its code where an edge function or a middleware has it. */
const OWN_CODES: Partial<Record<FunctionError, 'FAILED' | 'TIMEOUT'>> = {
  FUNCTION_INVOCATION_FAILED: 'FAILED',
  NO_RESPONSE_FROM_FUNCTION: 'FAILED',
  FUNCTION_INVOCATION_TIMEOUT: 'TIMEOUT',
}

/** Returns the failure with the code of the kind of function that had it. Pure. */
export function named(
  { role, bundle }: Pick<FunctionSpec, 'role' | 'bundle'>,
  failure: FunctionFailure,
): FunctionFailure {
  const own = OWN_CODES[failure.code]
  if (own === undefined || (role === 'function' && bundle.kind !== 'edge')) return failure
  const kind = role === 'middleware' ? 'MIDDLEWARE' : 'EDGE_FUNCTION'
  return new FunctionFailure(`${kind}_INVOCATION_${own}`, failure.message, failure.cause)
}

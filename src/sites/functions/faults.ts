/** What visitors get where a function does not answer. docs/functions.md: Errors. */

/** TABLE codes of `x-vercel-error` → status. */
export const FUNCTION_ERRORS = {
  FUNCTION_INVOCATION_FAILED: 500,
  NO_RESPONSE_FROM_FUNCTION: 502,
  FUNCTION_INVOCATION_TIMEOUT: 504,
  FUNCTION_PAYLOAD_TOO_LARGE: 413,
  FUNCTION_RESPONSE_PAYLOAD_TOO_LARGE: 500,
  FUNCTION_THROTTLED: 503,
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

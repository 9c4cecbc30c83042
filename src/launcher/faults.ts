/** What can be wrong with a function before it answers. docs/functions.md: Modules and handlers. */

/** TABLE errors → what its log says. */
const FAULTS = {
  LOAD_FAILED: 'The function could not be loaded.',
  NO_HANDLER:
    'The module exports nothing that answers requests. Export a function `(req, res)`, functions named GET or POST, an object with `fetch`, or call `listen` on a server.',
  HANDLER_FAILED: 'The function threw an error.',
  NO_RESPONSE: 'The function returned no Response.',
} as const

export type Fault = keyof typeof FAULTS

/** An error with its reason, which its log has already. */
export class FunctionFault extends Error {
  readonly fault: Fault

  constructor(fault: Fault, cause?: unknown) {
    super(FAULTS[fault], { cause })
    this.fault = fault
  }
}

/** The text of an error for the log, whatever was thrown. */
export function textOfError(error: unknown): string {
  try {
    if (error instanceof Error) return error.stack ?? `${error.name}: ${error.message}`
    return String(error)
  } catch {
    return 'an error without a text'
  }
}

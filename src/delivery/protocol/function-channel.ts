/** What sites servers ask the control plane for functions. docs/functions.md: Environment. */

/** The id of a deployment follows. The response has its variables. */
export const FUNCTION_ENVIRONMENT_PATH = '/sites/v1/environments/'

/** The most bytes of such a response: variables of a project, and those of a create. */
export const MAX_ENVIRONMENT_BYTES = 8 * 1024 ** 2

/** How a database that does not answer is told from a fault of our own. It names no driver, so that whoever answers requests may ask. */

/** The server is going, gone, not there yet or too slow; and too many connections. */
const AWAY = /^(57P0[123]|08\w{3}|53300|57014|55P03|25P03|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/

/** True when the database did not answer: the caller may try again, and cannot know whether a commit arrived. */
export function isAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  if (code !== undefined) return AWAY.test(code)
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|not queryable/.test(
    message ?? '',
  )
}

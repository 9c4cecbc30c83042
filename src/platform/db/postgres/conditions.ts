/**
 * Classifies errors of PostgreSQL by code, and by the server function (`routine`) where several share a code: messages are in the language of
 * `lc_messages`. docs/scaling.md: Server language.
 */

/** The server is stopping, starting, unreachable, too slow, read-only or out of a resource, or rejects the login. */
const SERVER_AWAY = /^(57P0\d|57014|55000|55P03|25P03|25006|08\w{3}|28\w{3}|3D000|53\w{3}|58\w{3})$/
/** The network failed, or this process has no free connection. */
const NETWORK_AWAY =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|EADDRNOTAVAIL|EMFILE|ENFILE|ENOBUFS|ENOTFOUND|EAI_\w+)$/
/** The server is there and has rolled the transaction back: a canceled statement, a lock that others hold, a read-only server. */
const ROLLED_BACK = new Set(['57014', '55P03', '25006'])
const DISK_FULL = '53100'
/** Functions with which a standby refuses a serializable transaction (0A000): pgbouncer may have connected to one before it was marked as standby. */
const ON_STANDBY = new Set(['call_enum_check_hook', 'call_string_check_hook', 'GetSerializableTransactionSnapshot'])
/** The function that finds a prepared statement with changed columns (0A000). */
const STALE_PLAN = 'RevalidateCachedQuery'
/** Serialization failure, deadlock: PostgreSQL asks for another attempt. */
const LOST_RACE = new Set(['40001', '40P01'])
/** Messages of the driver. They have no code and are always English. */
const SAID_BY_DRIVER =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|not queryable/

type Told = { code?: string; routine?: string; constraint?: string; syscall?: string; message?: string }

/**
 * Returns whether a prepared statement is stale: a migration of another instance changed its columns (0A000), or the connection does not have it
 * (26000), because the statement that would have named it failed.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = error as Told
  return code === '26000' || (code === '0A000' && routine === STALE_PLAN)
}

/** Returns whether a retry of the transaction may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  const { code, constraint } = error as Told
  // Another instance migrated the database; the next attempt prepares its statements again.
  if (isStalePlan(error)) return true
  // Another instance generated the same stamp in the same millisecond; the next attempt has a new one.
  return LOST_RACE.has(code ?? '') || (code === '23505' && (constraint ?? '').endsWith('_stamp'))
}

/** Returns whether a connection was cut: the outcome of its statements is unknown, and a new connection may work. */
export function isCut(error: unknown): boolean {
  const { code, message = '' } = error as Told
  return code === undefined
    ? /Connection terminated|not queryable/.test(message)
    : /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|57P01|08\w{3})$/.test(code)
}

/** Returns the refusal for a database failure. The caller may retry, and cannot know whether a commit arrived; with a full disk nothing was stored. */
export function refusalOf(error: unknown): 'storage_full' | 'unavailable' | undefined {
  const { code, routine = '', syscall, message = '' } = error as Told
  if (code === DISK_FULL) return 'storage_full'
  const away =
    code === undefined
      ? SAID_BY_DRIVER.test(message)
      : (code === '0A000' && ON_STANDBY.has(routine)) ||
        SERVER_AWAY.test(code) ||
        NETWORK_AWAY.test(code) ||
        syscall === 'connect'
  return away ? 'unavailable' : undefined
}

/** Returns whether a failed transaction may have committed: its connection or its server was lost, so no answer says so. */
export function mayHaveCommitted(error: unknown): boolean {
  return refusalOf(error) === 'unavailable' && !ROLLED_BACK.has((error as Told).code ?? '')
}

/**
 * What an error of PostgreSQL means for a caller. A server's condition is known by its code, and where several share one by the function that
 * found it (`routine`): the message is in the language of `lc_messages`. docs/scaling.md: The language of the server.
 */

/** The server is going, gone, not there yet, too slow, read-only, short of something, or does not let the service in any more. */
const SERVER_AWAY = /^(57P0\d|57014|55000|55P03|25P03|25006|08\w{3}|28\w{3}|3D000|53\w{3}|58\w{3})$/
/** There is no way to it, or this process has no connection left to give. */
const NETWORK_AWAY =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|EADDRNOTAVAIL|EMFILE|ENFILE|ENOBUFS|ENOTFOUND|EAI_\w+)$/
const DISK_FULL = '53100'
/** The functions of PostgreSQL in which a standby refuses a serializable transaction (0A000): pgbouncer may have connected to one before it knew. */
const ON_STANDBY = new Set(['call_enum_check_hook', 'call_string_check_hook', 'GetSerializableTransactionSnapshot'])
/** The function of PostgreSQL that finds that a statement which it keeps gives other columns now (0A000). */
const STALE_PLAN = 'RevalidateCachedQuery'
/** Serialization failure, deadlock: the codes with which PostgreSQL asks for another attempt. */
const LOST_RACE = new Set(['40001', '40P01'])
/** What the driver says where no server spoke. Its sentences have no code, and are in no other language. */
const SAID_BY_DRIVER =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|not queryable/

type Told = { code?: string; routine?: string; constraint?: string; syscall?: string; message?: string }

/**
 * Whether what a connection kept of a statement does not hold any more: another instance migrated its tables, so that it gives other columns
 * (0A000), or the connection does not have it (26000), because the statement before it, which would have named it, failed.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = error as Told
  return code === '26000' || (code === '0A000' && routine === STALE_PLAN)
}

/** Whether a transaction may win when it is run again. */
export function isSerializationFailure(error: unknown): boolean {
  const { code, constraint } = error as Told
  // Another instance migrated the store meanwhile; the next attempt has its statements planned anew.
  if (isStalePlan(error)) return true
  // Another instance gave the same stamp in the same millisecond; the next attempt has a new one.
  return LOST_RACE.has(code ?? '') || (code === '23505' && (constraint ?? '').endsWith('_stamp'))
}

/** Whether a connection was cut: what was under way on it is unknown, and a new connection may be answered. */
export function isCut(error: unknown): boolean {
  const { code, message = '' } = error as Told
  return code === undefined
    ? /^Connection terminated|not queryable/.test(message)
    : /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|57P01|08\w{3})$/.test(code)
}

/** A database that did not answer: the caller may try again, and cannot know whether a commit arrived. A full disk kept nothing. */
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

/** SQLite result codes: the primary code is the low byte. */

export const BUSY = 5
export const LOCKED = 6
export const IO_ERROR = 10
export const CORRUPT = 11
export const FULL = 13
export const CONSTRAINT = 19
export const CANNOT_OPEN = 14
export const NO_DATABASE = 26

/** Returns the primary result code, or 0 for other errors. */
export function primaryResultCode(error: unknown): number {
  return ((error as { errcode?: number } | null)?.errcode ?? 0) & 0xff
}

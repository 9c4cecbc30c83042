/** What SQLite says went wrong: the family of its result code, which is the low byte. */

export const BUSY = 5
export const LOCKED = 6
export const IO_ERROR = 10
export const CORRUPT = 11
export const FULL = 13
export const CONSTRAINT = 19
export const CANNOT_OPEN = 14
export const NO_DATABASE = 26

/** 0 for what is not SQLite's. */
export function primaryResultCode(error: unknown): number {
  return ((error as { errcode?: number } | null)?.errcode ?? 0) & 0xff
}

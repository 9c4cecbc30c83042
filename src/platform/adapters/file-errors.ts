/** Messages for file errors of the system, with what to do. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

const MESSAGES: Record<string, (file: string) => string> = {
  ENOENT: (file) =>
    existsSync(dirname(file)) ? `${file} is not there` : `the folder ${dirname(file)} is not there: make it first`,
  ENOTDIR: (file) => `${file} is a file or lies below one, and must be a folder: name another place`,
  EISDIR: (file) => `${file} is a folder: name a file`,
  EACCES: (file) => `permission denied: ${file}. Check the permissions of the file and its directory`,
  EPERM: (file) => `this user cannot change ${file}: check its permissions, or use another path`,
  EEXIST: (file) => `${file} is there already: name another`,
  ENOSPC: (file) => `the disk of ${file} is full: make room, and do it again`,
  EROFS: (file) => `the disk of ${file} can only be read: name another place`,
  ENAMETOOLONG: (file) => `the name of ${file} is too long`,
}

/** Returns the message for a system error with a file, or the message of any other error. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code = '', path, dest } = error as NodeJS.ErrnoException & { dest?: string }
  const file = dest ?? path
  if (file === undefined || !/^E[A-Z0-9]+$/.test(code)) return error.message
  return MESSAGES[code]?.(file) ?? `${file} cannot be used (${code})`
}

/** Returns the text of a file, or of stdin for `-`. Throws the system's error with the file name, which the system omits for a directory. */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw ofFile(file, error)
  }
}

/** Returns the error with the user's file in place of a temporary one. */
export function ofFile(file: string, error: unknown): unknown {
  return Object.assign(error as Error, { path: file })
}

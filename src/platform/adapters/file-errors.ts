/** What the system refused of a file, as a sentence for people. Its own message names a call and a code, and says nothing of what to do. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'

const MESSAGES: Record<string, (file: string) => string> = {
  ENOENT: (file) =>
    existsSync(dirname(file)) ? `${file} is not there` : `the folder ${dirname(file)} is not there: make it first`,
  ENOTDIR: (file) => `${file} is a file or lies below one, and must be a folder: name another place`,
  EISDIR: (file) => `${file} is a folder: name a file`,
  EACCES: (file) => `this user may not use ${file}: mend the rights of the file and of its folder`,
  EPERM: (file) => `this user may not change ${file}: mend its rights, or name another place`,
  EEXIST: (file) => `${file} is there already: name another`,
  ENOSPC: (file) => `the disk of ${file} is full: make room, and do it again`,
  EROFS: (file) => `the disk of ${file} can only be read: name another place`,
  ENAMETOOLONG: (file) => `the name of ${file} is too long`,
}

/** The sentence of a system's error that names a file; the message of every other error as it is. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code = '', path, dest } = error as NodeJS.ErrnoException & { dest?: string }
  const file = dest ?? path
  if (file === undefined || !/^E[A-Z0-9]+$/.test(code)) return error.message
  return MESSAGES[code]?.(file) ?? `${file} cannot be used (${code})`
}

/** The text of a file, or of stdin for `-`. Throws the system's error, with the name of the file: of a folder the system names none. */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw ofFile(file, error)
  }
}

/** A system's error, with the file that people know in the place of one that was made for the moment. */
export function ofFile(file: string, error: unknown): unknown {
  return Object.assign(error as Error, { path: file })
}

/** Private directories and files of the service. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Creates a directory and its parents, private and durable. Throws the system's error. It works step by step, because Node's recursive mkdir never
 * returns below a directory that accepts none (/proc).
 */
export function createDirectory(path: string): void {
  const directory = resolve(path)
  if (existsSync(directory)) return
  createDirectory(dirname(directory))
  mkdirSync(directory, { mode: 0o700 })
  syncDirectory(directory)
}

/** Creates a directory in an existing one. Throws, naming the missing parent: on an unmounted disk all parents would be created on another disk. */
export function createLastDirectory(path: string): void {
  const above = dirname(resolve(path))
  if (!existsSync(path) && !existsSync(above))
    throw new Error(`${above} is not there, so ${resolve(path)} is not made: mount its disk, or make ${above}`)
  createDirectory(path)
}

/** Returns the canonical path of a file without links. Its directory must exist; the file need not. */
export function canonicalPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
}

/** Syncs the directory of a file, so that a created or renamed file survives a power cut. */
export function syncDirectory(file: string): void {
  const directory = openSync(dirname(file), 'r')
  try {
    syncHandle(dirname(file), directory)
  } finally {
    closeSync(directory)
  }
}

/** Syncs an open file. Throws the system's error with the path, which the system omits. */
export function syncHandle(path: string, handle: number): void {
  try {
    fsyncSync(handle)
  } catch (error) {
    ;(error as Error).message += ` '${path}'`
    throw error
  }
}

/**
 * Rewrites a file with its own content and syncs it. After a failed fsync a system may treat lost pages as written, so a second fsync alone does
 * nothing. docs/faults.md: After a failed fsync. No other process may write the file meanwhile.
 */
export function rewriteAndSync(file: string): void {
  if (!existsSync(file)) return
  const handle = openSync(file, 'r+')
  try {
    const piece = Buffer.alloc(65_536)
    for (let at = 0; ; ) {
      const size = readSync(handle, piece, 0, piece.length, at)
      if (size === 0) break
      at += writeSync(handle, piece, 0, size, at)
    }
    syncHandle(file, handle)
  } finally {
    closeSync(handle)
  }
}

/** Records the identity of these files. Returns a function that throws once a name refers to another file, or to none. */
export function watchFileIdentity(names: string[]): () => void {
  const idOf = (name: string) => {
    const stats = statSync(name, { throwIfNoEntry: false })
    return stats && `${stats.dev} ${stats.ino}`
  }
  const owners = names.map((name) => ({ name, id: idOf(name) }))
  return () => {
    for (const { name, id } of owners)
      if (idOf(name) !== id) throw new FileReplaced(`${name} was removed or replaced while the service had it open`)
  }
}

/** Data that is written to an unlinked file is lost when the process ends. */
export class FileReplaced extends Error {}

/** Returns whether this user can create files in a directory. */
export function canWrite(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

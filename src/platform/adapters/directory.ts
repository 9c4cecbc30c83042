/** Folders and files of the service's own, for its eyes only. */
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
 * Makes a folder and those above it, readable by nobody else and there after a power cut. Throws what the system says. Step by
 * step, because the recursive mkdir of the platform never ends below a folder that takes none (/proc).
 */
export function createDirectory(path: string): void {
  const folder = resolve(path)
  if (existsSync(folder)) return
  createDirectory(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
  syncDirectory(folder)
}

/**
 * Makes a folder in one that is there. Throws, naming the missing one: below a disk that is not mounted a whole row of folders would be made
 * on another disk.
 */
export function makeLastFolder(path: string): void {
  const above = dirname(resolve(path))
  if (!existsSync(path) && !existsSync(above))
    throw new Error(`${above} is not there, so ${resolve(path)} is not made: mount its disk, or make ${above}`)
  createDirectory(path)
}

/** One name for one file, however many links lead to it. Its folder must be there; the file need not. */
export function canonicalPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
}

/** Makes the name of a file or folder last: what was made or renamed is there after a power cut once its folder is on disk. */
export function syncDirectory(file: string): void {
  const folder = openSync(dirname(file), 'r')
  try {
    syncHandle(dirname(file), folder)
  } finally {
    closeSync(folder)
  }
}

/** Brings what is open as `handle` to the disk. Throws what the system says, which does not name the file by itself. */
export function syncHandle(path: string, handle: number): void {
  try {
    fsyncSync(handle)
  } catch (error) {
    ;(error as Error).message += ` '${path}'`
    throw error
  }
}

/**
 * Writes what a file reads as once more, and syncs it. After a failed fsync a system may read from memory what never reached the
 * disk, and take it for written: a second fsync alone would do nothing. docs/faults.md: After a failed fsync. Nobody else may write the file meanwhile.
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

/** Remembers which files these names lead to. The answer throws once one leads to another file, or to none. */
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

/** What is written to a file that no name leads to is gone when the process ends. */
export class FileReplaced extends Error {}

/** Whether this user may make files in a folder. */
export function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

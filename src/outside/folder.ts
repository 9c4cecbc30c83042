/** Folders and files of the service's own, for its eyes only. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/**
 * Makes a folder and those above it, readable by nobody else. Throws what the system says. Step by step, because the
 * recursive mkdir of the platform never ends below a folder that takes none (/proc).
 */
export function makeFolder(path: string): void {
  const folder = resolve(path)
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

/** One name for one file, however many links lead to it. Its folder must be there; the file need not. */
export function trueName(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
}

/** Makes the name of a file last: a file that was made or renamed is there after a power cut once its folder is on disk. */
export function keepName(file: string): void {
  const folder = openSync(dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

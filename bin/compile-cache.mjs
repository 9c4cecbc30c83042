/**
 * Where compiled code is kept between starts. The runtime runs what it finds there as it is, so the folder must be ours alone.
 * docs/operations.md: Compile cache.
 */
import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

const NAME = join('.cache', 'berth-compiled')

/**
 * Gives a folder below the first of `homes` that is safe, made when it is not there; undefined when none is. Safe: it and each
 * folder up to the home belongs to the user of this process and no other user can write there, and no link leads out of the home. On systems
 * without owners (Windows) none is.
 */
export function compileCacheIn(homes) {
  if (process.getuid === undefined) return undefined
  return homes.map(folderIn).find((folder) => folder !== undefined)
}

function folderIn(named) {
  try {
    const home = realpathSync(named)
    const folder = join(home, NAME)
    // Nothing is created in a folder of another user, such as that of the service when root asks for a backup.
    if (!isOurs(home)) return undefined
    for (const each of [dirname(folder), folder]) {
      if (lstatSync(each, { throwIfNoEntry: false }) === undefined) mkdirSync(each, { mode: 0o700 })
      if (!isOurs(each)) return undefined
    }
    return (lstatSync(folder).mode & 0o077) === 0 ? folder : undefined
  } catch {
    // It is not there, or takes no folder: Berth starts without, only later.
    return undefined
  }
}

function isOurs(folder) {
  const found = lstatSync(folder)
  return found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0
}

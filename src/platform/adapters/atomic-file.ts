/**
 * The one place that makes files: each is there whole or not at all, also after a power cut, and only its owner reads it. It is
 * written under a name that nobody can guess and that must be new, so that no link or file of somebody else waits there.
 */
import { closeSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { link, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { randomText } from '../base/ids.ts'
import { syncDirectory, syncHandle } from './directory.ts'
import { ofFile } from './file-errors.ts'

/** Writes a file, in the place of one that is there. Throws what the system says, and leaves nothing behind then. */
export function writeFileAtomically(file: string, text: string): void {
  const fresh = createTemporaryFile(file, text)
  try {
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
  syncDirectory(file)
}

/** As `writeFileAtomically`, where there is no file yet: gives false, and changes nothing, when there is one. */
export function createFileAtomically(file: string, text: string): boolean {
  const fresh = createTemporaryFile(file, text)
  try {
    linkSync(fresh, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(fresh)
  }
  syncDirectory(file)
  return true
}

/** As `writeFileAtomically`, without holding up the process while the disk works. */
export async function writeFileAtomicallyAsync(file: string, bytes: Buffer): Promise<void> {
  await writeStreamAtomically(file, [bytes])
}

/** As `writeFileAtomicallyAsync`, of pieces that come one after another: memory stays flat. */
export async function writeStreamAtomically(
  file: string,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  await writeNamedLater(nameBeside(file), pieces, () => file)
}

/**
 * As `writeStreamAtomically`, of a file whose name follows from its content: `nameOf` is asked once all pieces are on disk, and what it
 * throws leaves nothing behind. `folder`: on the same filesystem as the name. `mode`: of the file once it is whole.
 */
export async function writeNamedWhole(
  folder: string,
  pieces: AsyncIterable<Buffer>,
  nameOf: () => string,
  mode: number,
): Promise<void> {
  await writeNamedLater(nameBeside(join(folder, 'new')), pieces, nameOf, mode)
}

async function writeNamedLater(
  fresh: string,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  nameOf: () => string,
  mode?: number,
): Promise<void> {
  let file = fresh
  try {
    const handle = await open(fresh, 'wx', 0o600).catch((error) => {
      throw ofFile(fresh, error)
    })
    try {
      for await (const piece of pieces) await handle.appendFile(piece)
      if (mode !== undefined) await handle.chmod(mode)
      await handle.sync()
    } finally {
      await handle.close()
    }
    file = nameOf()
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
  const folder = await open(dirname(file), 'r')
  await folder.sync().finally(() => folder.close())
}

/**
 * Removes a file that was written before a moment (in ms); one that is not there, or was written later, is no fault. It is looked at in `folder`, on the
 * same filesystem, where nobody replaces it meanwhile: what is judged is what is removed.
 */
export async function removeOlder(file: string, folder: string, writtenBefore: number): Promise<void> {
  const aside = nameBeside(join(folder, 'old'))
  const moved = await rename(file, aside).then(() => true, unless('ENOENT'))
  if (moved === undefined) return
  // A file that took its place meanwhile is as new.
  if ((await stat(aside)).mtimeMs >= writtenBefore) await link(aside, file).catch(unless('EEXIST'))
  await rm(aside)
}

function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error
  }
}

/** Removes what a killed process left of files that begin so, once nothing changed it for `deadMs`. */
export function removeStaleTemporaryFiles(folder: string, begins: string, deadMs: number): void {
  for (const name of readdirSync(folder)) {
    if (!isPart(name) || !name.startsWith(`.${begins}`)) continue
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs < Date.now() - deadMs) rmSync(join(folder, name), { force: true })
  }
}

/** As `removeStaleTemporaryFiles` of all files, without holding up the process: what nobody changed, renamed or linked since a moment (in ms). Gives how many. */
export async function removeCutShortLater(folder: string, before: number): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(folder)) {
    if (!isPart(name)) continue
    const stats = await stat(join(folder, name)).catch(unless('ENOENT'))
    // A file that is looked at to be removed has the time of its content, and was renamed just now.
    if (stats === undefined || Math.max(stats.mtimeMs, stats.ctimeMs) >= before) continue
    await rm(join(folder, name), { force: true })
    removed++
  }
  return removed
}

function isPart(name: string): boolean {
  return name.startsWith('.') && /\.part(-journal)?$/.test(name)
}

/** Makes a file beside the one that it is to become, for others to fill, and gives its name. Empty unless `text` is given. */
export function createTemporaryFile(file: string, text = ''): string {
  const fresh = nameBeside(file)
  const handle = openNew(fresh, file)
  try {
    writeSync(handle, text)
    syncHandle(file, handle)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
  return fresh
}

function openNew(fresh: string, file: string): number {
  try {
    return openSync(fresh, 'wx', 0o600)
  } catch (error) {
    throw ofFile(file, error)
  }
}

/** Short whatever the name of the file is: a name may have 255 bytes. */
function nameBeside(file: string): string {
  return join(dirname(file), `.${basename(file).slice(0, 40)}.${randomText(16)}.part`)
}

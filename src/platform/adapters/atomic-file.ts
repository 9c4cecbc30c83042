/**
 * Atomic file writes: a file is complete or absent, also after a power cut, and only its owner can read it. The temporary file has an unguessable new
 * name, so no link or file of another user is used.
 */
import { closeSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { link, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { randomText } from '../base/ids.ts'
import { syncDirectory, syncHandle } from './directory.ts'
import { ofFile } from './file-errors.ts'

/** Writes a file and replaces an existing one. On a system error it throws and leaves nothing behind. */
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

/** Creates a file. Returns false, and changes nothing, when it exists. */
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

/** Writes a file as `writeFileAtomically`, without blocking the event loop. */
export async function writeFileAtomicallyAsync(file: string, bytes: Buffer): Promise<void> {
  await writeStreamAtomically(file, [bytes])
}

/** Writes a file from a stream, with constant memory. */
export async function writeStreamAtomically(
  file: string,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  await writeNamedLater(nameBeside(file), pieces, () => file)
}

/**
 * Writes a stream to a file whose name depends on its content. `nameOf` runs when all data is on disk; if it throws, nothing remains. `directory`: on the
 * same filesystem as the name. `mode`: of the finished file.
 */
export async function writeNamedWhole(
  directory: string,
  pieces: AsyncIterable<Buffer>,
  nameOf: () => string,
  mode: number,
): Promise<void> {
  await writeNamedLater(nameBeside(join(directory, 'new')), pieces, nameOf, mode)
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
  const directory = await open(dirname(file), 'r')
  await directory.sync().finally(() => directory.close())
}

/**
 * Deletes a file that was written before a time (in ms); a missing or newer one is not an error. The check happens in `directory` (same filesystem),
 * where no other process can replace the file.
 */
export async function removeOlder(file: string, directory: string, writtenBefore: number): Promise<void> {
  const aside = nameBeside(join(directory, 'old'))
  const moved = await rename(file, aside).then(() => true, unless('ENOENT'))
  if (moved === undefined) return
  // A file that replaced it meanwhile is equally new.
  if ((await stat(aside)).mtimeMs >= writtenBefore) await link(aside, file).catch(unless('EEXIST'))
  await rm(aside)
}

function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error
  }
}

/** Deletes temporary files of killed processes with this prefix, unchanged for `deadMs`. */
export function removeStaleTemporaryFiles(directory: string, begins: string, deadMs: number): void {
  for (const name of readdirSync(directory)) {
    if (!isPart(name) || !name.startsWith(`.${begins}`)) continue
    const stats = statSync(join(directory, name), { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs < Date.now() - deadMs) rmSync(join(directory, name), { force: true })
  }
}

/** Deletes all temporary files that were unchanged since a time (in ms), without blocking. Returns how many. */
export async function removeCutShortLater(directory: string, before: number): Promise<number> {
  let removed = 0
  for await (const { name } of await opendir(directory)) {
    if (!isPart(name)) continue
    const stats = await stat(join(directory, name)).catch(unless('ENOENT'))
    // A file that is checked for deletion keeps its content time and was renamed just now.
    if (stats === undefined || Math.max(stats.mtimeMs, stats.ctimeMs) >= before) continue
    await rm(join(directory, name), { force: true })
    removed++
  }
  return removed
}

function isPart(name: string): boolean {
  return name.startsWith('.') && /\.part(-journal)?$/.test(name)
}

/** Creates a temporary file next to its target and returns its name. Empty unless `text` is set. */
export function createTemporaryFile(file: string, text = ''): string {
  const fresh = nameBeside(file)
  const handle = openNew(fresh, file)
  try {
    // A write can take a part of a text, as on a disk that is nearly full.
    writeFileSync(handle, text)
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

/** Short for any file name: a name may have 255 bytes. */
function nameBeside(file: string): string {
  return join(dirname(file), `.${basename(file).slice(0, 40)}.${randomText(16)}.part`)
}

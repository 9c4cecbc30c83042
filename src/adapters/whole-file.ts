/**
 * The one place that makes files: each is there whole or not at all, also after a power cut, and only its owner reads it. It is
 * written under a name that nobody can guess and that must be new, so that no link or file of somebody else waits there.
 */
import { closeSync, linkSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { randomText } from '../ids.ts'
import { ofFile } from './file-fault.ts'
import { keepName, syncNamed } from './folder.ts'

/** Writes a file, in the place of one that is there. Throws what the system says, and leaves nothing behind then. */
export function writeWhole(file: string, text: string): void {
  const fresh = makeBeside(file, text)
  try {
    renameSync(fresh, file)
  } catch (error) {
    rmSync(fresh, { force: true })
    throw error
  }
  keepName(file)
}

/** As `writeWhole`, where there is no file yet: gives false, and changes nothing, when there is one. */
export function writeFirst(file: string, text: string): boolean {
  const fresh = makeBeside(file, text)
  try {
    linkSync(fresh, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(fresh)
  }
  keepName(file)
  return true
}

/** As `writeWhole`, without holding up the process while the disk works. */
export async function writeWholeLater(file: string, bytes: Buffer): Promise<void> {
  await writeWholePieces(file, [bytes])
}

/** As `writeWholeLater`, of pieces that come one after another: memory stays flat. */
export async function writeWholePieces(file: string, pieces: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
  const fresh = nameBeside(file)
  try {
    const handle = await open(fresh, 'wx', 0o600).catch((error) => {
      throw ofFile(file, error)
    })
    try {
      for await (const piece of pieces) await handle.appendFile(piece)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
  const folder = await open(dirname(file), 'r')
  await folder.sync().finally(() => folder.close())
}

/** Removes what a killed process left of files that begin so, once nothing changed it for `deadMs`. */
export function removeCutShort(folder: string, begins: string, deadMs: number): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(`.${begins}`) || !/\.part(-journal)?$/.test(name)) continue
    const stats = statSync(join(folder, name), { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs < Date.now() - deadMs) rmSync(join(folder, name), { force: true })
  }
}

/** Makes a file beside the one that it is to become, for others to fill, and gives its name. Empty unless `text` is given. */
export function makeBeside(file: string, text = ''): string {
  const fresh = nameBeside(file)
  const handle = openNew(fresh, file)
  try {
    writeSync(handle, text)
    syncNamed(file, handle)
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

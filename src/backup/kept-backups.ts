/** Backups that the running service makes and keeps in its data folder. docs/backup.md: From the console. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { VERSION } from '../version.ts'
import { makeBackup } from './backup.ts'
import { type Manifest, readManifest } from './manifest.ts'

/** The newest so many are listed. */
const MOST_LISTED = 100

export type Backups = {
  /** Begins one; false while another is being made. `failed`: hears of one that could not be made. */
  begin(now: number, failed: (error: unknown) => void): boolean
  /** When the one that is being made began, and why the last one could not be. */
  state(): { running: number | null; failed: { at: number; message: string } | null }
  /** What is in the folder, newest first: each file with its manifest. */
  list(): { name: string; manifest: Manifest }[]
  /** Waits for the one that is being made. */
  end(): Promise<void>
}

/** The backups of this instance, in the folder `backups` of its data folder. */
export function openBackups(config: Config): Backups {
  const folder = join(config.dataFolder, 'backups')
  let making = Promise.resolve()
  let running: number | null = null
  let failed: { at: number; message: string } | null = null
  return {
    begin(now, onFailure) {
      if (running !== null) return false
      running = now
      making = makeBackup(config, { to: `${folder}/`, version: VERSION, withKeys: false }, () => {})
        .then(
          () => {
            failed = null
          },
          (error) => {
            failed = { at: now, message: (error as Error).message }
            onFailure(error)
          },
        )
        .finally(() => {
          running = null
        })
      return true
    },
    state: () => ({ running, failed }),
    list: () => listFolder(folder),
    end: () => making,
  }
}

function listFolder(folder: string): { name: string; manifest: Manifest }[] {
  const names = namesIn(folder).filter((name) => name.endsWith('.db'))
  return names
    .sort()
    .reverse()
    .slice(0, MOST_LISTED)
    .flatMap((name) => {
      try {
        return [{ name, manifest: readManifest(join(folder, name)) }]
      } catch {
        // No backup, or one whose manifest was taken away: nothing can be restored from it.
        return []
      }
    })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

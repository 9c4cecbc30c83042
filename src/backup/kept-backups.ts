/** Backups that the running service makes and keeps in its data folder. docs/backup.md: From the console. */
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { VERSION } from '../version.ts'
import { makeBackup } from './backup.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { namesIn } from './place.ts'
import { noteCheck, noteMade } from './records.ts'
import { verifyBackup } from './verify.ts'

/** The newest so many are listed. */
const MOST_LISTED = 100

export type Backups = {
  /** Begins one; false while another is being made. `failed`: hears of one that could not be made. */
  begin(now: number, failed: (error: unknown) => void): boolean
  /** When the one that is being made began, and why the last one could not be. */
  state(): { running: number | null; failed: { at: number; message: string } | null }
  /** What is in the folder, newest first: each file with its manifest. */
  list(): { name: string; manifest: Manifest }[]
  /** Waits for the one that is being made or checked. */
  end(): Promise<void>
}

type Opened = { config: Config; db: Db; clock: Clock }

/** The backups of this instance, in the folder `backups` of its data folder. Each is checked once it is made, and noted in the store. */
export function openBackups(opened: Opened): Backups {
  const folder = join(opened.config.dataFolder, 'backups')
  let ending: Promise<unknown> = Promise.resolve()
  let running: number | null = null
  let failed: { at: number; message: string } | null = null
  return {
    begin(now, onFailure) {
      if (running !== null) return false
      running = now
      const fail = (error: unknown) => {
        failed = { at: now, message: (error as Error).message }
        onFailure(error)
      }
      const made = makeKept(opened, folder).finally(() => {
        running = null
      })
      const checked = made.then((backup) => {
        failed = null
        return checkKept(opened, backup)
      })
      ending = Promise.all([ending, checked.catch(fail)])
      return true
    },
    state: () => ({ running, failed }),
    list: () => listFolder(folder),
    end: async () => void (await ending),
  }
}

type Kept = Parameters<typeof noteCheck>[1]

async function makeKept({ config, db }: Opened, folder: string): Promise<Kept> {
  const made = await makeBackup(config, { to: `${folder}/`, version: VERSION, withKeys: false }, () => {})
  const { begunAt, bytes, sha256 } = made.manifest
  const place = dirname(made.file)
  const backup = { place, name: basename(made.file), begun_at: Date.parse(begunAt), bytes, sha256 }
  await db.write((tx) => noteMade(tx, { ...backup, made_by: 'operator' }))
  return backup
}

async function checkKept({ config, db, clock }: Opened, backup: Kept): Promise<void> {
  const checked = await verifyBackup(config, join(backup.place, backup.name), () => {}).catch((error: Error) => error)
  const fault = checked instanceof Error ? checked.message : null
  await db.write((tx) => noteCheck(tx, backup, { at: clock.now(), fault }))
  if (checked instanceof Error) throw checked
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

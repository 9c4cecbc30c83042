/** Failed attempts on SQLite: counted in memory and stored, so that a restart keeps them. docs/limits.md: Several instances. */
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import type { Counter, EffectiveLimit } from './counter.ts'
import { createMemoryCounter, type Window, windowsOf } from './memory-counter.ts'
import type { Windows } from './windows.ts'

/** Windows to read at a start: as many as memory holds of one limit. */
const MAX_READ = 20_000

type Kept = { limit: EffectiveLimit; windows: Windows<Window>; changed: Set<string> }

export type DurableFailures = {
  counterOf(limit: EffectiveLimit): Counter
  read(db: Queries, now: number): Promise<void>
  /** Writes changes since the last call. If it throws, the next call writes them. */
  write(write: (work: (tx: Queries) => Promise<void>) => Promise<void>): Promise<void>
}

/** Creates the store of failure limits. Other limits are in memory only. */
export function createDurableFailures(): DurableFailures {
  const all = new Map<string, Kept>()
  return {
    counterOf(limit) {
      if (!limit.failures) return createMemoryCounter(limit)
      const entry = { limit, windows: windowsOf(limit.seconds), changed: new Set<string>() }
      all.set(limit.name, entry)
      return createMemoryCounter(limit, (owner) => void entry.changed.add(owner), entry.windows)
    },
    async read(db, now) {
      for (const { limit, windows } of all.values()) {
        const rows = await selectRunning(db, { name: limit.name, now })
        for (const { owner, ends_at, used } of rows) windows.restore(owner, { used, endsAt: ends_at })
      }
    },
    async write(write) {
      const changes = [...all.values()].map((entry) => ({ ...entry, owners: [...entry.changed] }))
      if (changes.every(({ owners }) => owners.length === 0)) return
      for (const { changed } of changes) changed.clear()
      try {
        await write(async (tx) => {
          for (const { limit, windows, owners } of changes) await writeWindows(tx, limit.name, windows, owners)
        })
      } catch (error) {
        for (const { changed, owners } of changes) for (const owner of owners) changed.add(owner)
        throw error
      }
    },
  }
}

async function writeWindows(tx: Queries, name: string, windows: Windows<Window>, owners: string[]): Promise<void> {
  for (const owner of owners) {
    const window = windows.find(owner)
    if (window !== undefined) await upsertWindow(tx, { name, owner, ends_at: window.endsAt, used: window.used })
  }
}

const selectRunning = preparedQuery<{ name: string; now: number }, Row<'rate_limit'>>((db, value) =>
  db
    .selectFrom('rate_limit')
    .selectAll()
    .where('name', '=', value.name)
    .where('ends_at', '>', value.now)
    .limit(MAX_READ),
)

const upsertWindow = preparedQuery<Omit<Row<'rate_limit'>, 'granted'>, unknown>((db, value) =>
  db
    .insertInto('rate_limit')
    .values({ name: value.name, owner: value.owner, ends_at: value.ends_at, used: value.used, granted: 0 })
    .onConflict((conflict) =>
      conflict
        .columns(['name', 'owner'])
        .doUpdateSet((eb) => ({ ends_at: eb.ref('excluded.ends_at'), used: eb.ref('excluded.used') })),
    ),
)

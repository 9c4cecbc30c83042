/** When people and tokens were last seen: noted in memory, to the hour, and written together once a minute, so that no read is a write. */
import type { Deps } from '../context.ts'
import { slices } from '../db/chunks.ts'

const HOUR_MS = 3_600_000
const PERIOD_MS = 60_000
/** So many are remembered as written; who is forgotten is written once more. */
const KNOWN = 20_000

export type Seen = {
  /** Notes that somebody, or a token, was here. */
  note(id: string, now: number): void
  /** What is to be written, which is then taken as written. */
  take(): { id: string; at: number }[]
}

export function openSeen(): Seen {
  let known = new Map<string, number>()
  let waiting = new Map<string, number>()
  return {
    note(id, now) {
      const at = now - (now % HOUR_MS)
      if (known.get(id) === at) return
      if (known.size >= KNOWN) known = new Map()
      known.set(id, at)
      if (waiting.size < KNOWN) waiting.set(id, at)
    },
    take() {
      const taken = [...waiting].map(([id, at]) => ({ id, at }))
      waiting = new Map()
      return taken
    },
  }
}

/** Writes down who was seen since the last time. */
export async function writeSeen({ db, seen }: Pick<Deps, 'db' | 'seen'>): Promise<void> {
  for (const rows of slices(seen.take())) {
    await db.write((tx) =>
      tx
        .insertInto('seen')
        .values(rows)
        .onConflict((conflict) => conflict.column('id').doUpdateSet((eb) => ({ at: eb.ref('excluded.at') })))
        .execute(),
    )
  }
}

/** Every instance writes what it saw itself. The answer stops it. */
export function startSeen(deps: Deps): () => Promise<void> {
  let running = Promise.resolve()
  const turn = setInterval(() => {
    running = running
      .then(() => writeSeen(deps))
      .catch((error) => deps.log.warn({ err: error }, 'who was seen could not be written down'))
  }, PERIOD_MS).unref()
  return async () => {
    clearInterval(turn)
    await running
  }
}

/** When a sites server last asked for changes, at whichever control plane. docs/deploying-sites.md: Create a deployment. */
import type { Ctx, Deps } from '../../context.ts'

/** The name of the row of `fact`. Its value is a time. */
const FACT = 'sites_server_heard'
/** Between two writes of a control plane. */
const WRITE_MS = 10_000
/** A sites server that waits for changes asks again after 25 s. */
const HEARD_MS = 60_000

/** Returns a function to call when a sites server asks. It waits for nothing and never throws. */
export function openHearing({ db, clock }: Pick<Deps, 'db' | 'clock'>): () => void {
  let written = Number.NEGATIVE_INFINITY
  const write = (value: string) =>
    db.write((tx) =>
      tx
        .insertInto('fact')
        .values({ name: FACT, value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute(),
    )
  return () => {
    const now = clock.now()
    if (now - written < WRITE_MS) return
    written = now
    // Sites servers are answered without the store. The next request writes again.
    write(String(now)).catch(() => {
      written = Number.NEGATIVE_INFINITY
    })
  }
}

/** Returns whether a sites server asked in the last minute. */
export async function isSitesServerHeard({ db, now }: Pick<Ctx, 'db' | 'now'>): Promise<boolean> {
  const heard = await db.selectFrom('fact').select('value').where('name', '=', FACT).executeTakeFirst()
  return heard !== undefined && now - Number(heard.value) < HEARD_MS
}

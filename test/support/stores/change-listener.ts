/** What an instance on PostgreSQL receives of the changes that others make. docs/architecture.md: Caching. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Topic } from '../../../src/platform/db/change-feed.ts'
import { CHANNEL } from '../../../src/platform/db/postgres/change-triggers.ts'
import { eventually } from '../eventually.ts'
import type { World } from '../world.ts'

/**
 * Waits until the instance listens to the others: as it begins to, it invalidates everything. No notification is pending
 * afterwards. The embedded store has no others.
 */
export async function waitForListener({ deps: { db } }: Pick<World, 'deps'>): Promise<void> {
  if (db.engine === 'sqlite') return
  const heard = new Set<string>()
  db.changes.onInvalidate((changed) => {
    if (changed !== 'all') for (const subject of changed) heard.add(subject)
  })
  const tell = (subject: Topic) => sql`select pg_notify(${CHANNEL}, ${`a test\n${subject}`})`.execute(db.read)
  const [first, last]: Topic[] = [`project ${randomUUID()}`, `project ${randomUUID()}`]
  await eventually(async () => {
    await tell(first!)
    return heard.has(first!)
  })
  // Notifications arrive in order.
  await tell(last!)
  await eventually(() => heard.has(last!))
}

/**
 * Publishes the changes of commits to this process and other instances. One NOTIFY covers many commits: each NOTIFY takes a database-wide lock, for
 * which transactions would queue. docs/architecture.md: Caching.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { createThrottledTask } from '../../base/throttled-task.ts'
import type { ChangedTopics, ChangeFeed, Topic } from '../change-feed.ts'
import { preparedQuery, type Queries } from '../db.ts'
import { CHANNEL } from './change-triggers.ts'
import { listenOnPostgres } from './listener.ts'

/** The first change is published at once; those within this time after it are published together. */
const GATHER_MS = 100
/** The server accepts payloads of less than 8,000 bytes. */
const PAYLOAD_BYTES = 7000
/** More at once are published as `all`. */
const MAX_PAYLOADS = 20
/** How long a stop waits for the last publication. */
const LAST_MS = 2000

export type ChangeNotifications = {
  /** Adds the changes of a transaction that was, or may have been, committed. */
  add(changed: ChangedTopics): void
  close(): Promise<void>
}

type Options = {
  url: string
  changes: ChangeFeed
  /** For short statements that commit at once. */
  db: Queries
  onLost: (error: Error) => void
  /** How often the listening connection is probed. */
  probeMs: number
}

/** Starts to publish changes, and to receive those of other instances. */
export function openChangeNotifications({ url, changes, db, onLost, probeMs }: Options): ChangeNotifications {
  const own = randomBytes(9).toString('base64url')
  const unread = createBatch()
  const untold = createBatch()
  const raise = (changed: ChangedTopics) => {
    changes.invalidate(changed)
    changes.notify(changed)
  }
  const flush = async () => {
    if (!unread.isEmpty()) {
      const changed = unread.take()
      const lists = await projectListTopicsOf(db, changed)
      if (lists.length > 0) raise(lists)
      untold.add(changed)
      untold.add(lists)
    }
    await publish(db, own, untold.take()).catch((error) => {
      // The connection may be lost after the server received it: a repeated notification only causes extra reads.
      untold.add('all')
      throw error
    })
    return !unread.isEmpty()
  }
  const repeat = createThrottledTask(GATHER_MS, flush)
  const add = (changed: ChangedTopics) => {
    if (changed.length === 0) return
    // Visitors of this instance need a pause at once; lists and other instances wait for the next round.
    raise(changed)
    unread.add(changed)
    repeat.wake()
  }
  const stop = listenOnPostgres(url, CHANNEL, (payload) => receive(own, payload, { add, raise }), onLost, probeMs)
  return {
    add,
    async close() {
      await stop()
      const last = repeat
        .stop()
        .then(flush)
        .catch(() => {})
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, LAST_MS).unref())])
    },
  }
}

type Way = (changed: ChangedTopics) => void

/** Receives a notification; undefined where one may have been missed. */
function receive(own: string, payload: string | undefined, { add, raise }: { add: Way; raise: Way }): void {
  if (payload === undefined) {
    raise('all')
    return
  }
  const [from, ...lines] = payload.split('\n')
  if (from === own) return
  const changed = lines[0] === 'all' ? 'all' : (lines as Topic[])
  // A transaction of another program reports rows only, without lists.
  if (from === '') add(changed)
  else raise(changed)
}

function createBatch() {
  let all = false
  const subjects = new Set<Topic>()
  return {
    isEmpty: () => !all && subjects.size === 0,
    add(changed: ChangedTopics) {
      if (changed === 'all') all = true
      else for (const subject of changed) subjects.add(subject)
    },
    take(): ChangedTopics {
      const batch = all ? 'all' : [...subjects]
      all = false
      subjects.clear()
      return batch
    },
  }
}

/** Returns the lists of changed projects, or `all` where they cannot be read. */
async function projectListTopicsOf(db: Queries, changed: ChangedTopics): Promise<ChangedTopics> {
  if (changed === 'all') return []
  const ids = changed.filter((tag) => tag.startsWith('project ')).map((tag) => tag.slice('project '.length))
  if (ids.length === 0) return []
  const rows = await findAccounts(db, { ids: ids.join('\n') }).catch(() => undefined)
  if (rows === undefined) return 'all'
  return rows.map((row): Topic => `projects ${row.account_id}`)
}

const findAccounts = preparedQuery<{ ids: string }, { account_id: string }>((db, value) =>
  db
    .selectFrom('project')
    .select('account_id')
    .distinct()
    .where('id', '=', sql<string>`any(string_to_array(${value.ids}, e'\\n'))`),
)

async function publish(db: Queries, own: string, changed: ChangedTopics): Promise<void> {
  if (changed.length === 0) return
  const payloads = changed === 'all' ? ['all'] : payloadsOf(changed)
  const sent = payloads.length > MAX_PAYLOADS ? ['all'] : payloads
  await notify(db, { payloads: sent.map((payload) => `${own}\n${payload}`).join('\f') })
}

const notify = preparedQuery<{ payloads: string }, unknown>((db, value) => ({
  compile: () =>
    sql`select pg_notify(${sql.lit(CHANNEL)}, payload) from unnest(string_to_array(${value.payloads}, e'\\f')) as payload`.compile(
      db,
    ),
}))

function payloadsOf(subjects: readonly Topic[]): string[] {
  const payloads: string[] = []
  let payload = ''
  for (const subject of subjects) {
    if (payload !== '' && Buffer.byteLength(payload) + Buffer.byteLength(subject) > PAYLOAD_BYTES) {
      payloads.push(payload)
      payload = ''
    }
    payload += payload === '' ? subject : `\n${subject}`
  }
  return [...payloads, payload]
}

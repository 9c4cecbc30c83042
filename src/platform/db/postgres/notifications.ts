/**
 * What commits change, told to this process and to the other instances. Commits gather for a moment, and one NOTIFY tells of all of them:
 * each takes a lock of the whole database, for which transactions would wait one after another. docs/architecture.md: What is remembered.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { createThrottledTask } from '../../base/throttled-task.ts'
import type { ChangedTopics, ChangeFeed, Topic } from '../change-feed.ts'
import { preparedQuery, type Queries } from '../db.ts'
import { CHANNEL } from './change-triggers.ts'
import { listenOnPostgres } from './listener.ts'

/** The first is told at once. What is committed so soon after it is told together. */
const GATHER_MS = 100
/** The server takes payloads of less than 8,000 bytes. */
const PAYLOAD_BYTES = 7000
/** More at once are told as `all`. */
const MAX_PAYLOADS = 20
/** How long a stop waits for the last ones to be told. */
const LAST_MS = 2000

export type ChangeNotifications = {
  /** Takes what a transaction changed that was committed, or may have been. */
  add(changed: ChangedTopics): void
  close(): Promise<void>
}

type Options = {
  url: string
  /** Where the stamps are raised. */
  changes: ChangeFeed
  /** Where short statements run that commit at once. */
  db: Queries
  onLost: (error: Error) => void
  /** How often the connection that hears is asked whether it still does. */
  probeMs: number
}

/** Begins to tell, and to hear what others tell. */
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
      // The connection may be lost after the server took it: what is told twice is read anew for nothing.
      untold.add('all')
      throw error
    })
    return !unread.isEmpty()
  }
  const repeat = createThrottledTask(GATHER_MS, flush)
  const add = (changed: ChangedTopics) => {
    if (changed.length === 0) return
    // Visitors of this instance feel a pause at once; lists and other instances wait for the next round.
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

/** Takes what somebody tells; undefined where something may have been missed. */
function receive(own: string, payload: string | undefined, { add, raise }: { add: Way; raise: Way }): void {
  if (payload === undefined) {
    raise('all')
    return
  }
  const [from, ...lines] = payload.split('\n')
  if (from === own) return
  const changed = lines[0] === 'all' ? 'all' : (lines as Topic[])
  // A transaction of another program knows rows alone, and no lists.
  if (from === '') add(changed)
  else raise(changed)
}

/** Subjects that wait. */
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
      const taken = all ? 'all' : [...subjects]
      all = false
      subjects.clear()
      return taken
    },
  }
}

/** The lists that the projects are in: what changes in a project changes its list. Where that cannot be read, anything may have changed. */
async function projectListTopicsOf(db: Queries, changed: ChangedTopics): Promise<ChangedTopics> {
  if (changed === 'all') return []
  const ids = changed.filter((one) => one.startsWith('project ')).map((one) => one.slice('project '.length))
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

/** Tells the other instances. */
async function publish(db: Queries, own: string, changed: ChangedTopics): Promise<void> {
  if (changed.length === 0) return
  const payloads = changed === 'all' ? ['all'] : payloadsOf(changed)
  const told = payloads.length > MAX_PAYLOADS ? ['all'] : payloads
  await notify(db, { payloads: told.map((payload) => `${own}\n${payload}`).join('\f') })
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

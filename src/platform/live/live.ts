/**
 * Open pages hear that something on them has changed, and ask for themselves again. They are told names and ids and no content, and at the
 * moment of telling it is read whether the person may still hear it. docs/console.md: Live pages.
 */
import { Readable } from 'node:stream'
import type { Metrics } from '../../metrics.ts'
import type { Clock } from '../base/clock.ts'
import { randomText } from '../base/ids.ts'
import { createThrottledTask } from '../base/throttled-task.ts'
import type { ChangeFeed, Topic } from '../db/change-feed.ts'
import type { Db } from '../db/db.ts'
import { canReceive, type LiveAccess, readLiveAccess } from './access.ts'
import type { LivePage } from './live-page.ts'
import { createNotificationQueue, type NotificationQueue } from './notification-queue.ts'
import { createSubscriptions, type Subscriptions } from './subscriptions.ts'

/** The first change is told at once. What comes so soon after it is told together. */
const GATHER_MS = 50
/** Something is said this often, so that nothing between takes the connection for dead. */
const BEAT_MS = 25_000
/** A stream lasts for so long; the browser then opens another one. */
const MAX_MS = 30 * 60_000
/** More names are not told one by one. */
const MAX_NAMED = 20
/** A browser that does not take what it is told is let go with so many bytes. */
const MAX_UNSENT = 16_384
const BEAT = ': here\n\n'

export type Live = {
  /** What a page shows that is read from now on: the service, and its moment. */
  stamp(): string
  /** Opens the stream of a page that was read at the stamp `since`. It is told at once of what has changed meanwhile. */
  open(page: LivePage, since: string): Readable
  /** Ends all streams. */
  close(): Promise<void>
}

type Open = LivePage & {
  owner: string
  /** What the page shows, and after it what may end its right. */
  shows: readonly Topic[]
  topics: readonly Topic[]
  stream: Readable
  openedAt: number
  /** What has changed and was not told. `unknown`: something has, and it is not told what. */
  changed: Set<Topic>
  unknown: boolean
  /** The stamp of the latest change. */
  at: number
}

/** Begins to hear of commits, for the pages that will be opened. No page is open yet. */
export function openLive({ db, clock, metrics }: { db: Db; clock: Clock; metrics: Metrics }): Live {
  const service = randomText(8)
  const pages = createSubscriptions<Open>()
  const turns = createNotificationQueue<Open>()
  const told = metrics.counter('berth_live_told_total')
  countPages(metrics, pages)
  const end = (page: Open, why?: 'ended' | 'full', said: { message?: string } = {}) => {
    if (!pages.remove(page)) return
    turns.remove(page)
    if (why !== undefined) page.stream.push(`event: ${why}\ndata: ${JSON.stringify(said)}\n\n`)
    page.stream.push(null)
  }
  const tell = (page: Open, right: LiveAccess | undefined) => {
    if (!pages.all.has(page)) return
    if (right !== undefined && (page.unknown || page.changed.size > 0)) {
      told.value++
      sendChangeEvent(page, right, service)
    }
    if (!right?.isCurrent) end(page, 'ended')
  }
  const spread = batchChanges(db.changes, pages, () => repeat.wake())
  const repeat = createThrottledTask(GATHER_MS, async () => {
    spread((page) => turns.add(page))
    await inTurn(turns, tell, (chosen) => readLiveAccess(db.read, chosen, clock.now()))
    return !turns.isEmpty()
  })
  const beat = setInterval(() => keepAlive(pages, end), BEAT_MS).unref()
  return {
    stamp: () => `${service}.${db.changes.version()}`,
    open(asked, since) {
      const full = pages.inTheWayOf({ owner: asked.accountId, userId: asked.userId })
      if (full !== undefined) end(full.page, 'full', { message: full.why })
      const page = openPage(asked, db.changes.version())
      page.stream.once('close', () => end(page))
      pages.add(page)
      send(page, BEAT)
      const [by, at] = since.split('.')
      page.unknown = by !== service || !db.changes.isUnchanged(page.shows, Number(at))
      if (page.unknown) turns.add(page)
      if (page.unknown) repeat.wake()
      return page.stream
    },
    async close() {
      clearInterval(beat)
      for (const page of pages.all) end(page)
      await repeat.stop()
    },
  }
}

function countPages(metrics: Metrics, pages: Subscriptions<Open>): void {
  metrics.onCollect(() => {
    metrics.gauge('berth_live_pages').value = pages.all.size
  })
}

type ReadRights = (chosen: Open[]) => Promise<(LiveAccess | undefined)[]>

/** Tells those whose turn it is. Where their rights cannot be read they wait on. */
async function inTurn(
  turns: NotificationQueue<Open>,
  tell: (page: Open, right: LiveAccess | undefined) => void,
  read: ReadRights,
) {
  const chosen = turns.takeDue(performance.now())
  const rights = await read(chosen).catch((error) => {
    for (const page of chosen) turns.add(page)
    throw error
  })
  for (const [at, page] of chosen.entries()) tell(page, rights[at])
}

/** Says that the connections are there, and ends those that have lasted long enough. */
function keepAlive(pages: Subscriptions<Open>, end: (page: Open) => void): void {
  const before = performance.now() - MAX_MS
  for (const page of pages.all) {
    if (page.openedAt < before) end(page)
    else send(page, BEAT)
  }
}

function openPage(asked: LivePage, at: number): Open {
  const shows = pageTopics(asked)
  return {
    ...asked,
    owner: asked.accountId,
    shows,
    topics: [...new Set<Topic>([...shows, `account ${asked.userId}`, `sessions ${asked.userId}`])],
    stream: new Readable({ read() {}, highWaterMark: MAX_UNSENT }),
    openedAt: performance.now(),
    changed: new Set(),
    unknown: false,
    at,
  }
}

/** What a page shows: a project and what counts in it, or an account with all its lists. */
function pageTopics({ userId, accountId, projectId }: LivePage): Topic[] {
  const both: Topic[] = [`account ${accountId}`, `domains ${accountId}`, `variables ${accountId}`]
  if (projectId !== undefined) return [`project ${projectId}`, ...both]
  const lists: Topic[] = [`projects ${accountId}`, `endpoints ${accountId}`, `invitations ${accountId}`]
  return [...both, ...lists, ...(accountId === userId ? [`sessions ${userId}` as const] : [])]
}

function send({ stream }: Open, text: string): void {
  stream.push(text)
  if (stream.readableLength > MAX_UNSENT) stream.destroy()
}

/** Tells what has changed: the names that the person may hear, and none where they are not known. */
function sendChangeEvent(page: Open, right: LiveAccess, service: string): void {
  const changed = page.unknown ? [] : [...page.changed].filter((subject) => canReceive(right, subject))
  page.changed.clear()
  page.unknown = false
  send(page, `event: change\ndata: ${JSON.stringify({ at: `${service}.${page.at}`, changed })}\n\n`)
}

/**
 * Notes what commits change of open pages, in few steps for each. What it gives spreads that over the pages, and `add` hears of each of
 * them: also of those whose right alone may have ended.
 */
function batchChanges(
  changes: ChangeFeed,
  pages: Subscriptions<Open>,
  wake: () => void,
): (add: (page: Open) => void) => void {
  const gathered = new Map<Topic, number>()
  let all = false
  changes.onChange((changed) => {
    if (changed === 'all') all = pages.all.size > 0
    else for (const one of changed) if (pages.has(one)) gathered.set(one, changes.version())
    if (all || gathered.size > 0) wake()
  })
  return (add) => {
    for (const page of all ? pages.all : []) {
      page.unknown = true
      page.at = changes.version()
      add(page)
    }
    for (const [subject, at] of gathered) {
      for (const page of pages.of(subject)) {
        if (page.shows.includes(subject)) note(page, subject, at)
        add(page)
      }
    }
    all = false
    gathered.clear()
  }
}

function note(page: Open, subject: Topic, at: number): void {
  page.at = Math.max(page.at, at)
  if (page.changed.size < MAX_NAMED) page.changed.add(subject)
  else page.unknown = true
}

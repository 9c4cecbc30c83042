/**
 * Notifies open pages of changes, so that they reload. Notifications contain names and ids but no content, and access is checked before each.
 * docs/console.md: Live updates.
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

/** The first change is sent at once; later ones are batched for this long. */
const GATHER_MS = 50
/** Interval of keep-alive messages, so that no proxy closes the connection. */
const BEAT_MS = 25_000
/** Longest stream; the browser then reconnects. */
const MAX_MS = 30 * 60_000
/** Above this many names, none is sent. */
const MAX_NAMED = 20
/** A browser with this many pending bytes is disconnected. */
const MAX_UNSENT = 16_384
const BEAT = ': here\n\n'

export type Live = {
  /** Returns the version of a page that is rendered now: the service and the time. */
  stamp(): string
  /** Opens the stream of a page rendered at `since`. Changes since then are sent at once. */
  open(page: LivePage, since: string): Readable
  close(): Promise<void>
}

type Open = LivePage & {
  owner: string
  /** Topics of the page, then topics of its access. */
  shownTopics: readonly Topic[]
  topics: readonly Topic[]
  stream: Readable
  openedAt: number
  /** Changed topics that were not sent. `unknown`: a change without known topics. */
  changed: Set<Topic>
  unknown: boolean
  /** Stamp of the latest change. */
  at: number
}

/** Subscribes to commits on behalf of pages. */
export function openLive({ db, clock, metrics }: { db: Db; clock: Clock; metrics: Metrics }): Live {
  const service = randomText(8)
  const pages = createSubscriptions<Open>()
  const turns = createNotificationQueue<Open>()
  const sent = metrics.counter('berth_live_told_total')
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
      sent.value++
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
      const full = pages.evictionFor({ owner: asked.accountId, userId: asked.userId })
      if (full !== undefined) end(full.page, 'full', { message: full.why })
      const page = openPage(asked, db.changes.version())
      page.stream.once('close', () => end(page))
      pages.add(page)
      send(page, BEAT)
      const [by, at] = since.split('.')
      page.unknown = by !== service || !db.changes.isUnchanged(page.shownTopics, Number(at))
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

/** Notifies the pages that are due. If their access cannot be read, they stay queued. */
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

/** Sends keep-alive messages and closes streams at their maximum age. */
function keepAlive(pages: Subscriptions<Open>, end: (page: Open) => void): void {
  const before = performance.now() - MAX_MS
  for (const page of pages.all) {
    if (page.openedAt < before) end(page)
    else send(page, BEAT)
  }
}

function openPage(page: LivePage, at: number): Open {
  const shownTopics = pageTopics(page)
  return {
    ...page,
    owner: page.accountId,
    shownTopics,
    topics: [...new Set<Topic>([...shownTopics, `account ${page.userId}`, `sessions ${page.userId}`])],
    stream: new Readable({ read() {}, highWaterMark: MAX_UNSENT }),
    openedAt: performance.now(),
    changed: new Set(),
    unknown: false,
    at,
  }
}

/** Returns the topics of a page: a project and its contents, or an account and its lists. */
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

/** Sends the changed names that the page may receive; none if they are not known. */
function sendChangeEvent(page: Open, right: LiveAccess, service: string): void {
  const changed = page.unknown ? [] : [...page.changed].filter((subject) => canReceive(right, subject))
  page.changed.clear()
  page.unknown = false
  send(page, `event: change\ndata: ${JSON.stringify({ at: `${service}.${page.at}`, changed })}\n\n`)
}

/**
 * Batches changed topics in few steps per commit. The result distributes them to pages and calls `add` for each, also for those with only a possible
 * change of access.
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
    else for (const page of changed) if (pages.has(page)) gathered.set(page, changes.version())
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
        if (page.shownTopics.includes(subject)) note(page, subject, at)
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

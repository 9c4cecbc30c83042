/**
 * Open pages hear that something on them has changed, and ask for themselves again. They are told names and ids and no content, and at the
 * moment of telling it is read whether the person may still hear it. docs/console.md: Live pages.
 */
import { Readable } from 'node:stream'
import type { Metrics } from '../../metrics.ts'
import type { Clock } from '../base/clock.ts'
import { randomText } from '../base/ids.ts'
import { openRepeat } from '../base/throttled-task.ts'
import type { Changes, Subject } from '../db/change-feed.ts'
import type { Db } from '../db/db.ts'
import type { LivePage } from './live-page.ts'
import { openPages, type Pages } from './subscriptions.ts'
import { mayHear, type Right, readRights } from './access.ts'
import { openTurns, type Turns } from './notification-queue.ts'

/** The first change is told at once. What comes so soon after it is told together. */
const GATHER_MS = 50
/** Something is said this often, so that nothing between takes the connection for dead. */
const BEAT_MS = 25_000
/** A stream lasts for so long; the browser then opens another one. */
const LONGEST_MS = 30 * 60_000
/** More names are not told one by one. */
const MOST_NAMED = 20
/** A browser that does not take what it is told is let go with so many bytes. */
const MOST_UNSENT = 16_384
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
  shows: readonly Subject[]
  hears: readonly Subject[]
  stream: Readable
  openedAt: number
  /** What has changed and was not told. `unknown`: something has, and it is not told what. */
  changed: Set<Subject>
  unknown: boolean
  /** The stamp of the latest change. */
  at: number
}

/** Begins to hear of commits, for the pages that will be opened. No page is open yet. */
export function openLive({ db, clock, metrics }: { db: Db; clock: Clock; metrics: Metrics }): Live {
  const service = randomText(8)
  const pages = openPages<Open>()
  const turns = openTurns<Open>()
  const told = metrics.counter('berth_live_told_total')
  countPages(metrics, pages)
  const end = (page: Open, why?: 'ended' | 'full', said: { message?: string } = {}) => {
    if (!pages.remove(page)) return
    turns.remove(page)
    if (why !== undefined) page.stream.push(`event: ${why}\ndata: ${JSON.stringify(said)}\n\n`)
    page.stream.push(null)
  }
  const tell = (page: Open, right: Right | undefined) => {
    if (!pages.all.has(page)) return
    if (right !== undefined && (page.unknown || page.changed.size > 0)) {
      told.value++
      sendChange(page, right, service)
    }
    if (!right?.lasts) end(page, 'ended')
  }
  const spread = gatherChanges(db.changes, pages, () => repeat.wake())
  const repeat = openRepeat(GATHER_MS, async () => {
    spread((page) => turns.add(page))
    await inTurn(turns, tell, (chosen) => readRights(db.read, chosen, clock.now()))
    return !turns.isEmpty()
  })
  const beat = setInterval(() => keepAlive(pages, end), BEAT_MS).unref()
  return {
    stamp: () => `${service}.${db.changes.stamp()}`,
    open(asked, since) {
      const full = pages.inTheWayOf({ owner: asked.accountId, userId: asked.userId })
      if (full !== undefined) end(full.page, 'full', { message: full.why })
      const page = openPage(asked, db.changes.stamp())
      page.stream.once('close', () => end(page))
      pages.add(page)
      send(page, BEAT)
      const [by, at] = since.split('.')
      page.unknown = by !== service || !db.changes.unchanged(page.shows, Number(at))
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

function countPages(metrics: Metrics, pages: Pages<Open>): void {
  metrics.beforeTold(() => {
    metrics.gauge('berth_live_pages').value = pages.all.size
  })
}

type ReadRights = (chosen: Open[]) => Promise<(Right | undefined)[]>

/** Tells those whose turn it is. Where their rights cannot be read they wait on. */
async function inTurn(turns: Turns<Open>, tell: (page: Open, right: Right | undefined) => void, read: ReadRights) {
  const chosen = turns.choose(performance.now())
  const rights = await read(chosen).catch((error) => {
    for (const page of chosen) turns.add(page)
    throw error
  })
  for (const [at, page] of chosen.entries()) tell(page, rights[at])
}

/** Says that the connections are there, and ends those that have lasted long enough. */
function keepAlive(pages: Pages<Open>, end: (page: Open) => void): void {
  const before = performance.now() - LONGEST_MS
  for (const page of pages.all) {
    if (page.openedAt < before) end(page)
    else send(page, BEAT)
  }
}

function openPage(asked: LivePage, at: number): Open {
  const shows = shownOn(asked)
  return {
    ...asked,
    owner: asked.accountId,
    shows,
    hears: [...new Set<Subject>([...shows, `account ${asked.userId}`, `sessions ${asked.userId}`])],
    stream: new Readable({ read() {}, highWaterMark: MOST_UNSENT }),
    openedAt: performance.now(),
    changed: new Set(),
    unknown: false,
    at,
  }
}

/** What a page shows: a project and what counts in it, or an account with all its lists. */
function shownOn({ userId, accountId, projectId }: LivePage): Subject[] {
  const both: Subject[] = [`account ${accountId}`, `domains ${accountId}`, `variables ${accountId}`]
  if (projectId !== undefined) return [`project ${projectId}`, ...both]
  const lists: Subject[] = [`projects ${accountId}`, `endpoints ${accountId}`, `invitations ${accountId}`]
  return [...both, ...lists, ...(accountId === userId ? [`sessions ${userId}` as const] : [])]
}

function send({ stream }: Open, text: string): void {
  stream.push(text)
  if (stream.readableLength > MOST_UNSENT) stream.destroy()
}

/** Tells what has changed: the names that the person may hear, and none where they are not known. */
function sendChange(page: Open, right: Right, service: string): void {
  const changed = page.unknown ? [] : [...page.changed].filter((subject) => mayHear(right, subject))
  page.changed.clear()
  page.unknown = false
  send(page, `event: change\ndata: ${JSON.stringify({ at: `${service}.${page.at}`, changed })}\n\n`)
}

/**
 * Notes what commits change of open pages, in few steps for each. What it gives spreads that over the pages, and `add` hears of each of
 * them: also of those whose right alone may have ended.
 */
function gatherChanges(changes: Changes, pages: Pages<Open>, wake: () => void): (add: (page: Open) => void) => void {
  const gathered = new Map<Subject, number>()
  let all = false
  changes.onChange((changed) => {
    if (changed === 'all') all = pages.all.size > 0
    else for (const one of changed) if (pages.has(one)) gathered.set(one, changes.stamp())
    if (all || gathered.size > 0) wake()
  })
  return (add) => {
    for (const page of all ? pages.all : []) {
      page.unknown = true
      page.at = changes.stamp()
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

function note(page: Open, subject: Subject, at: number): void {
  page.at = Math.max(page.at, at)
  if (page.changed.size < MOST_NAMED) page.changed.add(subject)
  else page.unknown = true
}

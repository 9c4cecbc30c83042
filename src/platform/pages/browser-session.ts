/** The session of a page request: signed in or anonymous. docs/sign-in-and-consent.md: Sessions. */

import type { Deps } from '../../context.ts'
import { findSessionUser, SESSION_TOUCH_MS, type SessionUser, touchSession } from '../access/session.ts'
import { randomText } from '../base/ids.ts'
import type { Peer } from '../http/failure-limits.ts'
import { peerAddress, peerOf } from '../http/failure-limits.ts'
import { singleHeader } from '../http/parse-request.ts'
import { csrfTokenOf, readCookies, type Theme } from './cookies.ts'
import type { Screen } from './screen.ts'

/** The parts of a browser request that pages read. */
export type BrowserRequest = {
  id: string
  originalUrl: string
  params: unknown
  raw: { rawHeaders: readonly string[]; socket: Peer }
  body: unknown
}

/** Header of reloads by the live script (pages/assets/live-script.js). */
const REFRESH_HEADER = 'x-berth-refresh'

export type BrowserSession = {
  user: SessionUser | undefined
  csrfToken: string
  session: string | undefined
  newVisit: string | undefined
  /** Slug of the account that this browser had open last. */
  account?: string | undefined
  theme?: Theme
  /** Undefined: UTC. */
  timeZone?: string | undefined
  /** A sentence for the next page, signed (done.ts). */
  done?: string | undefined
  address: string
  agent: string | undefined
}

/** Reads the session of a request by its cookies, and stores its use. */
export async function readBrowserSession(
  deps: Deps,
  screen: Screen,
  request: BrowserRequest,
  now: number,
): Promise<BrowserSession> {
  const where = whereOf(deps, request)
  const { session, visit, account, done, theme, timeZone } = readCookies(request.raw.rawHeaders, deps.origin())
  const visitor = await findSessionUser(deps.db.read, session, now)
  if (visitor !== undefined) {
    deps.lastSeen.record(visitor.userId, now)
    // Automatic reloads do not count as use: an operator's session would not end while a page is open.
    const isUse = !screen.streams && singleHeader(request.raw.rawHeaders, REFRESH_HEADER) === undefined
    if (isUse && visitor.usedAt + SESSION_TOUCH_MS <= now) {
      await deps.db.write((tx) => touchSession(tx, visitor, now, deps.config.sessions))
    }
    return {
      user: visitor,
      csrfToken: csrfTokenOf(session!),
      session,
      newVisit: undefined,
      account,
      done,
      theme,
      timeZone,
      ...where,
    }
  }
  const newVisit = visit === undefined ? randomText(43) : undefined
  return { user: visitor, csrfToken: csrfTokenOf(visit ?? newVisit!), session, newVisit, theme, ...where }
}

/** Returns the address and user agent of a browser. */
export function whereOf(
  deps: Pick<Deps, 'config'>,
  { raw }: BrowserRequest,
): Pick<BrowserSession, 'address' | 'agent'> {
  return { address: peerAddress(peerOf(deps, raw)), agent: singleHeader(raw.rawHeaders, 'user-agent') }
}

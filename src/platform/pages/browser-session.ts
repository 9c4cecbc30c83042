/** Who asks for a page: the person of a session, or a visitor. docs/sign-in-and-consent.md: Sessions. */

import type { Deps } from '../../context.ts'
import { findSessionUser, SESSION_TOUCH_MS, type SessionUser, touchSession } from '../access/session.ts'
import { randomText } from '../base/ids.ts'
import type { Peer } from '../http/failure-limits.ts'
import { peerAddress, peerOf } from '../http/failure-limits.ts'
import { singleHeader } from '../http/parse-request.ts'
import { csrfTokenOf, readCookies } from './cookies.ts'
import type { Screen } from './screen.ts'

/** A request of a browser: as much of it as is looked at, as whatever serves it has it. */
export type BrowserRequest = {
  id: string
  originalUrl: string
  params: unknown
  raw: { rawHeaders: readonly string[]; socket: Peer }
  body: unknown
}

/** What the script of an open page says when it asks for the page again (pages/assets/live-script.js). */
const REFRESH_HEADER = 'x-berth-refresh'

/** Who asks, as the cookies say. */
export type BrowserSession = {
  user: SessionUser | undefined
  csrfToken: string
  session: string | undefined
  newVisit: string | undefined
  address: string
  agent: string | undefined
}

/** Who asks for a page, by the cookies. The use of a session is written down. */
export async function readBrowserSession(
  deps: Deps,
  screen: Screen,
  request: BrowserRequest,
  now: number,
): Promise<BrowserSession> {
  const where = whereOf(deps, request)
  const { session, visit } = readCookies(request.raw.rawHeaders, deps.origin())
  const visitor = await findSessionUser(deps.db.read, session, now)
  if (visitor !== undefined) {
    deps.lastSeen.record(visitor.userId, now)
    // An open page that asks by itself is no use: the session of an operator would never end while one is open.
    const isUse = !screen.streams && singleHeader(request.raw.rawHeaders, REFRESH_HEADER) === undefined
    if (isUse && visitor.usedAt + SESSION_TOUCH_MS <= now) {
      await deps.db.write((tx) => touchSession(tx, visitor, now, deps.config.sessions))
    }
    return { user: visitor, csrfToken: csrfTokenOf(session!), session, newVisit: undefined, ...where }
  }
  const newVisit = visit === undefined ? randomText(43) : undefined
  return { user: visitor, csrfToken: csrfTokenOf(visit ?? newVisit!), session, newVisit, ...where }
}

/** From where a browser asks, and what it calls itself. */
export function whereOf(
  deps: Pick<Deps, 'config'>,
  { raw }: BrowserRequest,
): Pick<BrowserSession, 'address' | 'agent'> {
  return { address: peerAddress(peerOf(deps, raw)), agent: singleHeader(raw.rawHeaders, 'user-agent') }
}

/** The request lifecycle of a page, independent of the server framework. */
import type { Readable } from 'node:stream'
import type { Deps, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { findSessionUser, isRecentlyAuthenticated } from '../access/session.ts'
import { randomText } from '../base/ids.ts'
import type { Queries } from '../db/db.ts'
import { toRefusal } from '../http/error-handler.ts'
import { peerOf } from '../http/failure-limits.ts'
import { readParams } from '../http/parse-request.ts'
import { readQuery, splitQuery } from '../http/query.ts'
import { traceOf } from '../http/request-metrics.ts'
import { isPrefixed } from '../http/route.ts'
import { recordForm } from '../outbox/record-form.ts'
import { transact } from '../outbox/transact.ts'
import { Refusal, refuse } from '../refusals/refusal.ts'
import { type BrowserRequest, type BrowserSession, readBrowserSession, whereOf } from './browser-session.ts'
import { nonceOf, writeCookies } from './cookies.ts'
import { doneCookie, showDone } from './done.ts'
import { isSameOriginForm, isUserNavigation, originsOf, readSubmittedForm, verifyCsrf } from './form.ts'
import { BARE_HEADER, errorPage, pageHeaders, showDocument } from './frame.ts'
import type { RouteClient } from './route-client.ts'
import { saveForm } from './saved-form.ts'
import { type PageCtx, refusalsOfScreen, type Screen, type ScreenInput, type View } from './screen.ts'

const SIGN_IN_PATH = '/sign-in'
/** Pages of an account or user, the only ones with live updates. */
const OF_ACCOUNT = /^\/console\/(account|t)(\/|$)/
const CONFIRM_PATH = '/confirm'

/** The connection closes after the events, and proxies must not buffer them. */
const OF_EVENTS = { 'content-type': 'text/event-stream', connection: 'close', 'x-accel-buffering': 'no' }

export type BrowserReply = {
  status: number
  headers: Record<string, string | string[]>
  body: string | Readable
  /** The error that the page shows, if any. */
  refusal?: RefusalKey
}

const NOBODY = { user: undefined, csrfToken: '', session: undefined, newVisit: undefined }

/** Handles the request of a page. `error`: an earlier error of the request. Nothing is thrown: errors are pages too. */
export async function handlePage(
  deps: Deps,
  bridge: RouteClient,
  screen: Screen,
  request: BrowserRequest,
  error?: Error,
): Promise<BrowserReply> {
  let guest: BrowserSession = { ...NOBODY, ...whereOf(deps, request) }
  const stamp = deps.live.stamp()
  try {
    if (error !== undefined) throw error
    if (isPrefixed(request.originalUrl)) refuse('not_found')
    const now = deps.clock.now()
    guest = await readBrowserSession(deps, screen, request, now)
    if (screen.operatorsOnly && guest.user?.isOperator === false)
      refuse('missing_permission', 'Only an operator of this service can see or do this.')
    const call = { deps, bridge, screen, request, now }
    const mustProve =
      (screen.auth === 'person' && guest.user === undefined) ||
      (screen.requiresReauthentication && !isRecentlyAuthenticated(guest.user!, now))
    if (mustProve) return reply(deps, guest, await redirectToReauthentication(call, guest))
    if (screen.showsSecret && !isUserNavigation(request))
      return reply(deps, guest, { redirectTo: above(request.originalUrl) })
    const shown = await runScreen(call, guest).catch(async (fault) => {
      if (screen.calls === undefined || !(fault instanceof Refusal)) throw fault
      // The session may end during a route call, and some routes require a recent sign-in.
      if (fault.key === 'invalid_token' || fault.key === 'operator_only')
        guest = await readBrowserSession(deps, screen, request, deps.clock.now())
      if (fault.key === 'sign_in_again' || guest.user === undefined) return redirectToReauthentication(call, guest)
      throw fault
    })
    showDone(shown, guest, request.originalUrl, screen.method === 'GET')
    const isFixed = screen.requiresReauthentication || screen.noAutoRefresh
    const follows = screen.method === 'GET' && OF_ACCOUNT.test(screen.path) && !isFixed
    return reply(deps, guest, shown, follows ? stamp : undefined)
  } catch (fault) {
    const at = { requestId: request.id, ...traceOf(request), method: screen.method, path: screen.path }
    const refusal = toRefusal(deps, fault as Error, at)
    const calls = [...(screen.calls ?? []), ...(screen.requiresCall === undefined ? [] : [screen.requiresCall])]
    if (![...refusalsOfScreen(screen), ...bridge.refusalsOf(calls)].includes(refusal.key)) {
      deps.log.error({ screen: screen.name, refusal: refusal.key }, 'the page does not declare this refusal')
    }
    const page = await showError(deps, screen, request, guest, refusal)
    const answer = reply(deps, guest, { ...page, status: refusal.status })
    return { ...answer, headers: { ...answer.headers, ...refusal.headers }, refusal: refusal.key }
  }
}

function above(url: string): string {
  return url.replace(/\/[^/?]*(?:\?.*)?$/, '')
}

/** The page of an error. In the console it has the navigation if possible, otherwise a bare header. */
async function showError(deps: Deps, screen: Screen, request: BrowserRequest, guest: BrowserSession, refusal: Refusal) {
  const bare = errorPage(refusal)
  if ((screen.calls ?? screen.renderErrorPage) === undefined || guest.session === undefined) return bare
  if (screen.renderErrorPage === undefined || guest.user === undefined || ![403, 404].includes(refusal.status))
    return { ...bare, console: BARE_HEADER }
  const ctx = { ...readingFor(deps, guest, deps.clock.now()), user: guest.user }
  const at = { path: screen.path, params: readParams(request.params as Params), url: request.originalUrl }
  // If the navigation fails too, the user sees the first error.
  return screen.renderErrorPage(ctx, at, refusal).catch(() => ({ ...bare, console: BARE_HEADER }))
}

type Asked = { deps: Deps; bridge: RouteClient; screen: Screen; request: BrowserRequest; now: number }

async function runScreen(call: Asked, guest: BrowserSession): Promise<View> {
  const { deps, screen, request, now } = call
  if (screen.calls !== undefined) return runConsoleScreen(call, guest)
  if (screen.method === 'POST') return write(call, guest)
  if (screen.writes) return writeTyped(call, guest, readInput(screen, request, {}))
  return screen.run(readingFor(deps, guest, now), readInput(screen, request, {}), undefined)
}

/** A console page or form. Each route call authenticates the user again within its own transaction. */
async function runConsoleScreen({ deps, bridge, screen, request, now }: Asked, guest: BrowserSession): Promise<View> {
  const input = screen.method === 'GET' ? readInput(screen, request, {}) : readTyped(deps, screen, request, guest)
  // Only `action` shows an error next to the input.
  if (input.error !== undefined && !screen.savesForm) throw input.error
  const asker = {
    secret: guest.session!,
    userId: guest.user!.userId,
    peer: peerOf(deps, request.raw),
    once: input.submissionId,
  }
  const ctx = { ...readingFor(deps, guest, now), user: guest.user! }
  if (screen.requiresCall !== undefined) await bridge.mustBeAllowed(ctx, screen.requiresCall, input.params)
  return screen.run({ ...ctx, callRoute: bridge.clientFor(asker, screen.calls!) }, input, undefined)
}

/** Reads a console form. Invalid fields are reported on the page of the form, with the input. So is an expired session. */
function readTyped(deps: Deps, screen: Screen, request: BrowserRequest, guest: BrowserSession): ScreenInput {
  const sent = readSubmittedForm(screen, request)
  const isStale =
    screen.savesForm &&
    sent.token !== guest.csrfToken &&
    isSameOriginForm(request, originsOf(deps, request), sent, guest)
  if (!isStale) verifyCsrf(deps, sent, request, guest)
  try {
    if (isStale || (sent.isReview && screen.savesForm)) refuse('form_not_sent')
    return { ...readInput(screen, request, sent.fields()), ...sent.ids }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { ...readInput(screen, request, sent.rawFields), shownProject: sent.ids.shownProject, error }
  }
}

/** Redirects to reauthentication and back, with the submitted form. */
async function redirectToReauthentication(
  { deps, bridge, screen, request, now }: Asked,
  guest: BrowserSession,
): Promise<View> {
  if (screen.streams) return { events: undefined }
  const path = guest.user === undefined ? SIGN_IN_PATH : CONFIRM_PATH
  const saved = screen.savesForm && saveForm(request, originsOf(deps, request), screen, guest)
  const to = `${path}?return=${encodeURIComponent(bridge.returnPath(screen, request.originalUrl))}`
  if (saved === undefined) return { redirectTo: to }
  const input = { params: {}, query: {}, form: {}, url: to, savedForm: saved }
  const shown = await bridge.pageAt(path).run(readingFor(deps, guest, now), input, undefined)
  return { ...shown, console: BARE_HEADER, status: guest.user === undefined ? 401 : 403 }
}

/** A form with its own transaction. Errors are shown on the page of the form, if it has one (`renderErrors`). */
async function write(call: Asked, guest: BrowserSession): Promise<View> {
  const { deps, screen, request } = call
  const input = readTyped(deps, screen, request, guest)
  try {
    if (input.error) throw input.error
    return await writeTyped(call, guest, input)
  } catch (error) {
    if (!(error instanceof Refusal) || error.status >= 500 || screen.renderErrors === undefined) throw error
    const shown = await screen.renderErrors(readingFor(deps, guest, deps.clock.now()), input, error)
    return { ...shown, status: error.status }
  }
}

async function writeTyped(call: Asked, guest: BrowserSession, input: ScreenInput): Promise<View> {
  const { deps, bridge, screen, request } = call
  const prepared = await screen.prepare?.(readingFor(deps, guest, deps.clock.now()), input)
  const consumed = new Map()
  return transact(deps, { name: screen.name, emits: screen.emits ?? [] }, async (tx, begin) => {
    // Read the session again, in case it ended while this request waited.
    const user = await findSessionUser(tx, guest.session, deps.clock.now())
    const back = encodeURIComponent(bridge.returnPath(screen, request.originalUrl))
    if (screen.auth === 'person' && user === undefined) return { redirectTo: `${SIGN_IN_PATH}?return=${back}` }
    const { outgoing, ...outboxCtx } = begin()
    const ctx = { ...contextFor(deps, tx, { ...guest, user }), ...outboxCtx }
    const result: View = await screen.run(ctx, input, prepared)
    const { audit } = result
    if (audit) await recordForm(outgoing, screen.name, input.form, audit, consumed)
    else if (outgoing.length > 0) throw new Error(`${screen.name} published an event without an audit entry`)
    return result
  })
}

/** The context of a read-only page. Events need a transaction. */
function readingFor(deps: Deps, guest: BrowserSession, now: number): PageCtx {
  const emit = () => {
    throw new Error('a page publishes an event outside of its transaction')
  }
  return { ...contextFor(deps, deps.db.read, guest), now, stamp: 0, emit }
}

function contextFor(
  deps: Deps,
  db: Queries,
  { user, csrfToken, address, agent, account, theme, timeZone }: BrowserSession,
): Omit<PageCtx, 'now' | 'stamp' | 'emit'> {
  const actor = { kind: 'user', id: user?.userId ?? 'anyone', tokenId: null } as const
  const submissionId = randomText(16)
  return { actor, db, deps, user, csrfToken, submissionId, address, agent, lastAccount: account, theme, timeZone }
}

function readInput(screen: Screen, request: BrowserRequest, form: unknown): ScreenInput {
  const { originalUrl: url } = request
  const query = readQuery(screen.query, splitQuery(url))
  return { params: readParams(request.params as Params), query, form, url }
}

/** `stamp`: time of rendering, if the page has live updates. */
function reply(deps: Deps, guest: BrowserSession, result: View, stamp?: string): BrowserReply {
  const { session, theme, timeZone } = result
  const visit = typeof session === 'string' ? null : (result.anonymousSession ?? guest.newVisit)
  const account = 'title' in result && result.account !== guest.account ? result.account : undefined
  const done = doneCookie(result, guest)
  const chosen = { session, visit, account, done, theme, timeZone }
  const cookies = writeCookies(chosen, deps.origin(), deps.config.sessions.lastMs)
  const nonce = guest.session === undefined ? '' : nonceOf(guest.session)
  const headers: BrowserReply['headers'] = {
    ...pageHeaders('title' in result ? result : undefined, nonce),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  }
  if ('redirectTo' in result) return { status: 303, headers: { ...headers, location: result.redirectTo }, body: '' }
  if ('events' in result) {
    // HTML standard, Server-sent events: 204 stops a browser from reconnecting.
    if (result.events === undefined) return { status: 204, headers, body: '' }
    return { status: 200, headers: { ...headers, ...OF_EVENTS }, body: result.events }
  }
  if ('download' in result) {
    const { fileName, contentType, text } = result.download
    const kept = { 'content-type': contentType, 'content-disposition': `attachment; filename="${fileName}"` }
    return { status: 200, headers: { ...headers, ...kept, 'x-content-type-options': 'nosniff' }, body: text }
  }
  if (result.status === 503) headers['retry-after'] = '1'
  return { status: result.status ?? 200, headers, body: showDocument(result, { ...guest, nonce, stamp }) }
}

/** The life of a request of a page: who is signed in, is the form ours, do it, commit, show. Knows no server framework. */

import { findVisitor, isFresh, SESSION_TOUCH_MS, touchSession, type Visitor } from '../access/session.ts'
import type { Deps, Params } from '../context.ts'
import type { Queries } from '../db/db.ts'
import type { RefusalKey } from '../errors.ts'
import { refusalToTell } from '../http/error-handler.ts'
import { addressOf, type Peer } from '../http/failure-limits.ts'
import { readParams, soleHeader } from '../http/parse-request.ts'
import { readQuery, splitQuery } from '../http/query.ts'
import { traceOf } from '../http/request-metrics.ts'
import { versionOf } from '../http/route.ts'
import { randomText } from '../ids.ts'
import { fieldsOf, record } from '../outbox/outbox.ts'
import { transact } from '../outbox/transact.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { Bridge } from './ask.ts'
import { formTokenOf, nonceOf, readCookies, writeCookies } from './cookies.ts'
import { mustBeOurs, readFields } from './form.ts'
import { faultPage, pageHeaders, showDocument } from './frame.ts'
import { refusalsOfScreen, type Screen, type ScreenInput, type View, type VisitorCtx } from './screen.ts'

/** Where those go who are not signed in. */
const SIGN_IN_PATH = '/sign-in'
/** Where those go who gave their password too long ago. */
const CONFIRM_PATH = '/confirm'

/** A request of a browser: as much of it as is looked at, as whatever serves it has it. */
export type BrowserRequest = {
  id: string
  originalUrl: string
  params: unknown
  raw: { rawHeaders: readonly string[]; socket: Peer }
  body: unknown
}
export type BrowserReply = {
  status: number
  headers: Record<string, string | string[]>
  body: string
  /** Why the page says no, when it does. */
  refusal?: RefusalKey
}

/** Who asks, as the cookies say. */
type Guest = {
  visitor: Visitor | undefined
  formToken: string
  session: string | undefined
  newVisit: string | undefined
  address: string
}

/** Answers the request of a page. `error`: what already went wrong with it. Nothing is thrown: a fault is a page too. */
export async function answerBrowser(
  deps: Deps,
  bridge: Bridge,
  screen: Screen,
  request: BrowserRequest,
  error?: Error,
): Promise<BrowserReply> {
  const address = addressOf(request.raw.socket)
  let guest: Guest = { visitor: undefined, formToken: '', session: undefined, newVisit: undefined, address }
  try {
    if (error !== undefined) throw error
    if (versionOf(request.originalUrl) !== undefined) refuse('not_found')
    const now = deps.clock.now()
    guest = await meet(deps, request, now)
    if (screen.auth === 'person' && guest.visitor === undefined) return reply(deps, guest, { to: signInFirst(request) })
    if (screen.fresh && !isFresh(guest.visitor!, now)) return reply(deps, guest, { to: confirmFirst(request) })
    const shown = await answerScreen(deps, bridge, screen, request, guest, now)
    return reply(deps, guest, shown)
  } catch (fault) {
    const at = { requestId: request.id, ...traceOf(request), method: screen.method, path: screen.path }
    const refusal = refusalToTell(deps, fault as Error, at)
    if (![...refusalsOfScreen(screen), ...bridge.refusalsOf(screen.asks ?? [])].includes(refusal.key)) {
      deps.log.error({ screen: screen.name, refusal: refusal.key }, 'the page does not declare this refusal')
    }
    const answer = reply(deps, guest, shownFault(refusal))
    return { ...answer, headers: { ...answer.headers, ...refusal.headers }, refusal: refusal.key }
  }
}

function answerScreen(
  deps: Deps,
  bridge: Bridge,
  screen: Screen,
  request: BrowserRequest,
  guest: Guest,
  now: number,
): Promise<View> {
  if (screen.asks !== undefined) return answerConsole(deps, bridge, screen, request, guest, now)
  return screen.method === 'GET' ? read(deps, screen, request, guest, now) : write(deps, screen, request, guest)
}

/** A page of the console, or one of its forms: each route that it asks lets the person in again, within its own transaction. */
async function answerConsole(
  deps: Deps,
  bridge: Bridge,
  screen: Screen,
  request: BrowserRequest,
  guest: Guest,
  now: number,
): Promise<View> {
  const fields = screen.method === 'GET' ? {} : readOwnForm(deps, screen, request, guest)
  const asker = { secret: guest.session!, userId: guest.visitor!.userId, peer: request.raw.socket }
  const emit = () => {
    throw new Error(`${screen.name} tells nothing by itself`)
  }
  const ctx = { ...contextFor(deps, deps.db.read, guest), now, stamp: 0, emit }
  return screen.run({ ...ctx, ask: bridge.askerOf(asker, screen.asks!) }, readInput(screen, request, fields), undefined)
}

async function meet(deps: Deps, request: BrowserRequest, now: number): Promise<Guest> {
  const address = addressOf(request.raw.socket)
  const { session, visit } = readCookies(request.raw.rawHeaders, deps.origin())
  const visitor = await findVisitor(deps.db.read, session, now)
  if (visitor !== undefined) {
    deps.lastSeen.note(visitor.userId, now)
    if (visitor.usedAt + SESSION_TOUCH_MS <= now) {
      await deps.db.write((tx) => touchSession(tx, visitor.sessionHash, now))
    }
    return { visitor, formToken: formTokenOf(session!), session, newVisit: undefined, address }
  }
  const newVisit = visit === undefined ? randomText(43) : undefined
  return { visitor, formToken: formTokenOf(visit ?? newVisit!), session, newVisit, address }
}

async function read(deps: Deps, screen: Screen, request: BrowserRequest, guest: Guest, now: number): Promise<View> {
  const input = readInput(screen, request, {})
  const emit = () => {
    throw new Error(`${screen.name} only reads`)
  }
  return screen.run({ ...contextFor(deps, deps.db.read, guest), now, stamp: 0, emit }, input, undefined)
}

async function write(deps: Deps, screen: Screen, request: BrowserRequest, guest: Guest): Promise<View> {
  const input = readInput(screen, request, readOwnForm(deps, screen, request, guest))
  const emit = () => {
    throw new Error(`${screen.name} tells nothing before its transaction`)
  }
  const before = { ...contextFor(deps, deps.db.read, guest), now: deps.clock.now(), stamp: 0, emit }
  const prepared = await screen.prepare?.(before, input)
  return transact(deps, { name: screen.name, emits: screen.emits ?? [] }, async (tx, begin) => {
    // A session that ended while this waited has ended.
    const visitor = await findVisitor(tx, guest.session, deps.clock.now())
    if (screen.auth === 'person' && visitor === undefined) return { to: signInFirst(request) }
    const { outgoing, ...outboxCtx } = begin()
    const ctx = { ...contextFor(deps, tx, { ...guest, visitor }), ...outboxCtx }
    const result: View = await screen.run(ctx, input, prepared)
    if (result.done) await record(result.done.by, outgoing, screen.name, result.done.subjectId, fieldsOf(input.form))
    else if (outgoing.length > 0) throw new Error(`${screen.name} told of a change that it does not own up to`)
    return result
  })
}

/** The fields of a form that a page of ours sent. Refuses: form_not_ours 403, unsupported_media_type 415, bad_request 400. */
function readOwnForm(deps: Deps, screen: Screen, request: BrowserRequest, guest: Guest): unknown {
  const { token, fields } = readFields(
    screen.form,
    soleHeader(request.raw.rawHeaders, 'content-type'),
    request.body as Buffer | undefined,
  )
  // A visitor who has no cookie was shown no form.
  mustBeOurs(
    request.raw.rawHeaders,
    originsOf(deps, request),
    token,
    guest.newVisit === undefined ? guest.formToken : undefined,
  )
  return fields()
}

function contextFor(
  deps: Deps,
  db: Queries,
  { visitor, formToken, address }: Guest,
): Omit<VisitorCtx, 'now' | 'stamp' | 'emit'> {
  const actor = { kind: 'user', id: visitor?.userId ?? 'anyone', tokenId: null } as const
  return { actor, db, deps, visitor, formToken, address }
}

function readInput(screen: Screen, request: BrowserRequest, form: unknown): ScreenInput {
  return {
    params: readParams(request.params as Params),
    query: readQuery(screen.query, splitQuery(request.originalUrl)),
    form,
    url: request.originalUrl,
  }
}

/** The origins that pages of ours have: the one that the setting says; without it, also the one that was asked. */
function originsOf(deps: Deps, { raw: { rawHeaders } }: BrowserRequest): string[] {
  const { origin, protocol } = new URL(deps.origin())
  return deps.config.publicUrl === undefined ? [origin, `${protocol}//${soleHeader(rawHeaders, 'host')}`] : [origin]
}

function signInFirst({ originalUrl }: BrowserRequest): string {
  return `${SIGN_IN_PATH}?return=${encodeURIComponent(originalUrl)}`
}

function confirmFirst({ originalUrl }: BrowserRequest): string {
  return `${CONFIRM_PATH}?return=${encodeURIComponent(originalUrl)}`
}

function shownFault(refusal: Refusal): View {
  return { ...faultPage(refusal), status: refusal.status }
}

function reply(deps: Deps, guest: Guest, result: View): BrowserReply {
  const session = result.session
  const visit = typeof session === 'string' ? null : guest.newVisit
  const cookies = writeCookies({ session, visit }, deps.origin())
  const nonce = guest.session === undefined ? '' : nonceOf(guest.session)
  const headers: BrowserReply['headers'] = {
    ...pageHeaders('to' in result ? undefined : result, nonce),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  }
  if ('to' in result) return { status: 303, headers: { ...headers, location: result.to }, body: '' }
  if (result.status === 503) headers['retry-after'] = '1'
  return { status: result.status ?? 200, headers, body: showDocument(result, guest.visitor, guest.formToken, nonce) }
}

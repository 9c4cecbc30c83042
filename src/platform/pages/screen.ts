/** A screen as data: a page with its input, authentication and output. */

import type { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import type { Caller, OperatorCtx, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { EventName } from '../../events.ts'
import type { SessionUser } from '../access/session.ts'
import type { Refusal } from '../refusals/refusal.ts'
import { CSRF_FIELD, SUBMISSION_FIELD, type Theme } from './cookies.ts'
import type { Page } from './frame.ts'
import { type Html, html } from './html.ts'

/** A route call of a page. `account`: by default the user's own. */
export type RouteCall = {
  account?: { id: string }
  params?: Params
  query?: Record<string, string | undefined>
  body?: unknown
  /** Which of several calls of one route in a form this is, so that a form that is sent twice repeats each. */
  item?: string
}

/** Calls a route and returns its parsed response; undefined without a body. Refuses as the route does. `A`: the static type of the route's `reply`. */
export type CallRoute = <A>(operationId: string, wish?: RouteCall) => Promise<A>

/** Context of a page: that of operator operations, and the session user. */
export type PageCtx = OperatorCtx & {
  user: SessionUser | undefined
  /** Client address, for which failures are counted. */
  address: string
  agent: string | undefined
  /** Slug of the account that this browser had open last; not checked. */
  lastAccount: string | undefined
  theme: Theme
  /** Of exact times; undefined: UTC. */
  timeZone: string | undefined
  /** CSRF token of this session: `csrfFields`. */
  csrfToken: string
  /** Identifies duplicate submissions of the forms of this page; new per rendered page. */
  submissionId: string
}
export type UserPageCtx = PageCtx & { user: SessionUser }

export type ScreenInput<Q = unknown, F = unknown> = {
  params: Params
  query: Q
  form: F
  /** Path and query of the request: the target of the page's forms. */
  url: string
  /** Error of a form that is shown again. `form` then has the input as typed. */
  error?: Refusal
  submissionId?: string | undefined
  /** Id of the project that the page of the form showed. */
  shownProject?: string | undefined
  /** On reauthentication pages: the saved form of another page. platform/pages/saved-form.ts. */
  savedForm?: string | undefined
}

/** A file download. `fileName`: letters, digits, dots and hyphens. */
type Download = { fileName: string; contentType: string; text: string }

/** What a form changed, for the next page. `next`: the page to go on to, of this service. */
export type Done = string | { sentence: string; next: { words: string; path: string } }

type Redirect = { redirectTo: string; done?: Done | undefined }

/** A page, a 303 redirect, a file, or an event stream (undefined: no events, and the browser does not reconnect). */
export type View = (Page | Redirect | { download: Download } | { events: Readable | undefined }) & {
  /** Secret of a new session; null ends the session. */
  session?: string | null
  /** The theme that a user chose; null: that of the system. */
  theme?: Exclude<Theme, undefined> | null
  /** The time zone that a user chose; null: UTC. */
  timeZone?: string | null
  /** New secret of an anonymous session. */
  anonymousSession?: string
  /** The audit entry of a change, with its actor; none without a change. `fields`: the changed ones, if not all of the form. */
  audit?: { by: OperatorCtx & { caller?: Caller }; subjectId: string | null; fields?: string[] }
}

type Spec<C, Q extends TSchema, F extends TSchema, A> = {
  method: 'GET' | 'POST'
  path: string
  /** Verb and noun, for the audit log. */
  name: string
  query?: Q
  form?: F
  /** Slow work before the transaction; its result is passed to `run`. */
  prepare?: (ctx: C, input: ScreenInput<Static<Q>, Static<F>>) => Promise<A>
  run: (ctx: C, input: ScreenInput<Static<Q>, Static<F>>, prepared: A) => Promise<View> | View
  /** Shows the form with its errors and input. Without it an error is a page of its own. */
  renderErrors?: (ctx: C, input: ScreenInput<Static<Q>>, refusal: Refusal) => Promise<Page>
  /** A GET that writes, after a redirect from another site. Its parameters are bound to this browser. */
  writes?: true
  emits?: readonly EventName[]
  refuses?: readonly RefusalKey[]
}

// biome-ignore lint/suspicious/noExplicitAny: a table of pages holds every combination; `screen` checked each where it was written
export type Screen = Spec<any, any, any, any> & {
  auth: 'anyone' | 'person'
  /** Routes that a console page calls, each in a transaction of its own. */
  calls?: readonly string[]
  /** The route of the page's only form. Users without access to it do not see the page. */
  requiresCall?: string
  /** Hidden from users who are not operators, before any reauthentication. */
  operatorsOnly?: true
  /** Shows a secret or runs the service. Requires a sign-in within the last hour. */
  requiresReauthentication?: true
  /** Shows a secret and writes an audit entry. Cross-site and prefetch requests are redirected to the parent page. */
  showsSecret?: true
  /** Reads secrets or queries name servers, so the live script does not reload it. Pages with `requiresReauthentication` are not reloaded either. */
  noAutoRefresh?: true
  /** Responds with events to a script. Does not extend the session or redirect to reauthentication. */
  streams?: true
  /** Most bytes of its form, if more than the default. */
  bodyLimit?: number
  /** Saves the form's input during reauthentication. The page with its errors (`renderErrors`) shows it again. */
  savesForm?: true
  /** Renders a not-found page with navigation. */
  renderErrorPage?: (ctx: UserPageCtx, at: FailedRequest, refusal: Refusal) => Promise<Page>
}

/** A request that found nothing. `path`: of the screen; `url`: of the request. */
export type FailedRequest = { path: string; params: Params; url: string }

/** Context of a console page: the session user, and the routes that it declares. */
export type ConsoleCtx = UserPageCtx & { callRoute: CallRoute }

/** Declares a public page. */
export function screen<Q extends TSchema, F extends TSchema, A = undefined>(spec: Spec<PageCtx, Q, F, A>): Screen {
  return { ...(spec as unknown as Screen), auth: 'anyone' }
}

/** Declares a page for signed-in users; others sign in first and come back. */
export function userScreen<Q extends TSchema, F extends TSchema, A = undefined>(
  spec: Spec<UserPageCtx, Q, F, A> & Pick<Screen, 'requiresReauthentication' | 'savesForm'>,
): Screen {
  return { ...(spec as unknown as Screen), auth: 'person' }
}

/** Declares a console page or form, which works only through route calls. */
export function consoleScreen<Q extends TSchema, F extends TSchema>(
  spec: Spec<ConsoleCtx, Q, F, undefined> &
    Required<Pick<Screen, 'calls'>> &
    Pick<Screen, 'requiresReauthentication' | 'showsSecret' | 'noAutoRefresh' | 'streams' | 'bodyLimit' | 'savesForm'>,
): Screen {
  return { ...(spec as unknown as Screen), auth: 'person' }
}

const ALWAYS: readonly RefusalKey[] = ['bad_request', 'not_found', 'internal_server_error', 'unavailable']
const ON_FORM: readonly RefusalKey[] = [
  'form_not_ours',
  'unsupported_media_type',
  'payload_too_large',
  'busy',
  'storage_full',
  'overloaded',
]

/** Returns every error of a page. */
export function refusalsOfScreen(screen: Screen): readonly RefusalKey[] {
  const ofPerson: RefusalKey[] = screen.auth === 'person' ? ['second_factor_required'] : []
  const ofOperator: RefusalKey[] = screen.operatorsOnly ? ['missing_permission'] : []
  const writes = screen.calls === undefined && (screen.method === 'POST' || screen.writes)
  const ofWrite: RefusalKey[] = writes ? ['rate_limited'] : []
  return [
    ...ALWAYS,
    ...ofPerson,
    ...ofOperator,
    ...ofWrite,
    ...(screen.method === 'POST' ? ON_FORM : []),
    ...(screen.refuses ?? []),
  ]
}

/** Renders the hidden fields of every form. */
export function csrfFields({ csrfToken, submissionId }: Pick<PageCtx, 'csrfToken' | 'submissionId'>): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}"><input type="hidden" name="${SUBMISSION_FIELD}" value="${submissionId}">`
}

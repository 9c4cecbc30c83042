/** A page for people is data, as a route is: what is asked, whether it needs a session, what answers, what is shown. */
import type { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import type { Caller, OperatorCtx, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { EventName } from '../../events.ts'
import type { SessionUser } from '../access/session.ts'
import type { Refusal } from '../refusals/refusal.ts'
import { CSRF_FIELD, SUBMISSION_FIELD } from './cookies.ts'
import type { Page } from './frame.ts'
import { type Html, html } from './html.ts'

/** What a page asks of a route. `account`: the one that it acts for; the person's own where none is named. */
export type RouteCall = {
  account?: { id: string }
  params?: Params
  query?: Record<string, string | undefined>
  body?: unknown
}

/**
 * Asks a route and gives its answer, parsed; undefined where it has no body. Refuses as the route does. `A`: the answer's type,
 * which is the static type of the route's `reply`.
 */
export type CallRoute = <A>(operationId: string, wish?: RouteCall) => Promise<A>

/** What a page may touch: what the operator's operations may, and who is signed in. */
export type PageCtx = OperatorCtx & {
  user: SessionUser | undefined
  /** Where the browser asks from: what its failures are counted by. */
  address: string
  /** What the browser calls itself. */
  agent: string | undefined
  /** What proves that a form is of this browser's session: `csrfFields`. */
  csrfToken: string
  /** What the forms of this page are known by when one of them is sent twice: another one each time that it is shown. */
  submissionId: string
}
export type UserPageCtx = PageCtx & { user: SessionUser }

export type ScreenInput<Q = unknown, F = unknown> = {
  params: Params
  query: Q
  form: F
  /** Path and query as they were asked: where a form of the page goes. */
  url: string
  /** Of a form that shows again what was typed: why its fields are not what they should be. `form` is then what was typed. */
  error?: Refusal
  /** Of a form: by what it is known when it is sent twice. */
  submissionId?: string | undefined
  /** Of the pages on which people prove who they are: the form of another page that is carried on. platform/pages/saved-form.ts. */
  savedForm?: string | undefined
}

/** A file that the browser keeps. `fileName`: letters, digits, dots and hyphens. */
type Download = { fileName: string; contentType: string; text: string }

/** A page, a 303 to another one (`to`), a file, or events for as long as the browser listens (undefined: there are none to hear, and it does not ask again). */
export type View = (Page | { redirectTo: string } | { download: Download } | { events: Readable | undefined }) & {
  /** The secret of the session that begins; null: it ends. */
  session?: string | null
  /** The new secret of the visitor, who is not signed in. */
  anonymousSession?: string
  /** What was changed, and as whom: the line of the audit log. A form that changes nothing leaves none. `fields`: those that were changed, where they are not all of the form. */
  audit?: { by: OperatorCtx & { caller?: Caller }; subjectId: string | null; fields?: string[] }
}

type Spec<C, Q extends TSchema, F extends TSchema, A> = {
  method: 'GET' | 'POST'
  /** Without a version. */
  path: string
  /** A verb and a noun, as the audit log says them. */
  name: string
  query?: Q
  form?: F
  /** Slow work outside the database, before the transaction; its answer is handed to `run`. */
  prepare?: (ctx: C, input: ScreenInput<Static<Q>, Static<F>>) => Promise<A>
  run: (ctx: C, input: ScreenInput<Static<Q>, Static<F>>, prepared: A) => Promise<View> | View
  /** Of a form: the page that shows what was refused beside what was typed. Without it a refusal is a page by itself. */
  renderErrors?: (ctx: C, input: ScreenInput<Static<Q>>, refusal: Refusal) => Promise<Page>
  /** A GET that writes: another site sends the browser to it. What it brings proves by itself that this browser asked for it. */
  writes?: true
  emits?: readonly EventName[]
  refuses?: readonly RefusalKey[]
}

// biome-ignore lint/suspicious/noExplicitAny: a table of pages holds every combination; `screen` checked each where it was written
export type Screen = Spec<any, any, any, any> & {
  auth: 'anyone' | 'person'
  /** The routes that a page of the console asks. It has no transaction of its own: each route has its own. */
  calls?: readonly string[]
  /** Of a page that is there for one form: the route that the form asks. Whoever may not ask it is not shown the page. */
  requiresCall?: string
  /** Nobody else is shown it, nor asked for a password for it. */
  operatorsOnly?: true
  /** It shows a secret or runs the service: whoever gave their password longer than an hour ago gives it again first. */
  requiresReauthentication?: true
  /** It opens a secret and leaves a line in the audit log: another site, or a browser that looks ahead, is led to the page above it. */
  showsSecret?: true
  /** It opens values or asks name servers: the browser does not ask for it again by itself. Neither does it for a page that is `fresh`. */
  noAutoRefresh?: true
  /** It answers with events. A script asks for it: that is no use of the session, and nobody is led to a page on which people prove who they are. */
  streams?: true
  /** The most bytes of its form, where they are more than the server takes otherwise. */
  bodyLimit?: number
  /** Of a form: what was typed is kept while the person proves who they are. The page that shows what is refused (`again`) then shows it. */
  savesForm?: true
  /** The page that says that a page is not there, or not for this person. Without it such a page has no navigation. */
  renderErrorPage?: (ctx: UserPageCtx, at: FailedRequest, refusal: Refusal) => Promise<Page>
}

/** What was asked for that is not there. `path`: of the screen; `url`: as it was asked. */
export type FailedRequest = { path: string; params: Params; url: string }

/** What a page of the console may touch: who is signed in, and the routes that it declares. */
export type ConsoleCtx = UserPageCtx & { ask: CallRoute }

/** A page that anyone may open. */
export function screen<Q extends TSchema, F extends TSchema, A = undefined>(spec: Spec<PageCtx, Q, F, A>): Screen {
  return { ...(spec as unknown as Screen), auth: 'anyone' }
}

/** A page for those who are signed in; others sign in first and come back. */
export function userScreen<Q extends TSchema, F extends TSchema, A = undefined>(
  spec: Spec<UserPageCtx, Q, F, A> & Pick<Screen, 'requiresReauthentication' | 'savesForm'>,
): Screen {
  return { ...(spec as unknown as Screen), auth: 'person' }
}

/** A page or a form of the console: it asks routes, and does nothing by itself. */
export function consoleScreen<Q extends TSchema, F extends TSchema>(
  spec: Spec<ConsoleCtx, Q, F, undefined> &
    Required<Pick<Screen, 'calls'>> &
    Pick<Screen, 'requiresReauthentication' | 'showsSecret' | 'noAutoRefresh' | 'streams' | 'bodyLimit' | 'savesForm'>,
): Screen {
  const one: Screen = { ...(spec as unknown as Screen), auth: 'person' }
  return one.method === 'GET' && !one.streams ? { ...one, run: sayingSaved(one.run) } : one
}

/** At the end of the address of a page that follows a change: the page says that the change is saved. */
export const SAVED_QUERY = '?saved'

/** Forms of the page are sent to its address without this end: what they lead back to was not saved. */
function sayingSaved(run: Screen['run']): Screen['run'] {
  return async (ctx, input, prepared) => {
    if (!input.url.endsWith(SAVED_QUERY)) return run(ctx, input, prepared)
    const view = await run(ctx, { ...input, url: input.url.slice(0, -SAVED_QUERY.length) }, prepared)
    if (!('body' in view)) return view
    return { ...view, body: html`<p class="notice" role="status">The change is saved.</p>${view.body}` }
  }
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

/** Every refusal that this page may answer with. */
export function refusalsOfScreen(screen: Screen): readonly RefusalKey[] {
  const ofPerson: RefusalKey[] = screen.auth === 'person' ? ['second_factor_required'] : []
  const ofOperator: RefusalKey[] = screen.operatorsOnly ? ['missing_permission'] : []
  return [
    ...ALWAYS,
    ...ofPerson,
    ...ofOperator,
    ...(screen.method === 'POST' ? ON_FORM : []),
    ...(screen.refuses ?? []),
  ]
}

/** The hidden fields that every form of a page needs. */
export function csrfFields({ csrfToken, submissionId }: Pick<PageCtx, 'csrfToken' | 'submissionId'>): Html {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}"><input type="hidden" name="${SUBMISSION_FIELD}" value="${submissionId}">`
}

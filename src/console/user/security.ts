/** The password of a person, and the browsers in which they are signed in. docs/sign-in-and-consent.md: Passwords and sessions. */
import type { Static } from 'typebox'
import { changePassword, type PasswordChangeResult, preparePassword } from '../../accounts/sign-in/own-password.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH, PASSWORD_RULE } from '../../accounts/sign-in/passwords.ts'
import { endOtherSessions, endOwnSession, listSessionsOf, type OwnSession } from '../../accounts/sign-in/sessions.ts'
import { identityOf } from '../../accounts/single-sign-on/identities.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { field, formErrorNotice, formErrorOf } from '../action.ts'
import { button } from '../controls.ts'
import { dataTable } from '../fields.ts'
import { consolePage, personPath } from '../frame.ts'
import type { Refused } from '../refused.ts'
import { relativeTime } from '../time.ts'

const SECURITY = personPath('security')
const Query = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
/** Long enough for every password, short enough that nobody has megabytes hashed. */
const Typed = Type.String({ maxLength: 1024 })
const NewPassword = Type.Object({ password: Typed, next: Typed, again: Typed })
const DONE: Record<string, string> = {
  password: 'Your password is changed. Every other session of yours has ended.',
  ended: 'That browser is signed out.',
  others: 'You are signed out everywhere else.',
}

export const securityScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: SECURITY,
    name: 'showSecurity',
    query: Query,
    run: (ctx, input) => showSecurity(ctx, input),
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/password`,
    name: 'changePassword',
    form: NewPassword,
    prepare: (ctx, { form }) => preparePassword(ctx, form),
    run: choose,
    renderErrors: (ctx, input, refusal) => showSecurity(ctx, { ...input, query: {} }, formErrorOf(refusal, {})),
    refuses: ['rate_limited'],
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/sessions/others/end`,
    name: 'endOtherSessions',
    run: async (ctx): Promise<View> => {
      await endOtherSessions(ctx, ctx.user.userId, ctx.user.sessionHash)
      return { redirectTo: `${SECURITY}?done=others`, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/sessions/:sessionId/end`,
    name: 'endOwnSession',
    run: async (ctx, { params }): Promise<View> => {
      await endOwnSession(ctx, ctx.user.userId, params.sessionId!)
      return { redirectTo: `${SECURITY}?done=ended`, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
    renderErrors: (ctx, input, refusal) => showSecurity(ctx, { ...input, query: {} }, formErrorOf(refusal, {})),
  }),
]

async function choose(ctx: UserPageCtx, input: ScreenInput, chosen: PasswordChangeResult): Promise<View> {
  const refused = (field: string, message: string) => ({ field, message, typed: {}, extra: {} })
  if ('fault' in chosen)
    return { ...(await showSecurity(ctx, { ...input, query: {} }, refused(chosen.field, chosen.fault))), status: 422 }
  // A wrong password is counted, so this is an answer and no refusal: a refusal would take the count back.
  if (!(await changePassword(ctx, chosen))) {
    const wrong = refused('password', 'The present password is wrong.')
    return { ...(await showSecurity(ctx, { ...input, query: {} }, wrong)), status: 403 }
  }
  return { redirectTo: `${SECURITY}?done=password`, audit: { by: ctx, subjectId: ctx.user.userId } }
}

async function showSecurity(ctx: UserPageCtx, { query }: ScreenInput<Static<typeof Query>>, refused?: Refused) {
  const { userId, username } = ctx.user
  const sessions = await listSessionsOf(ctx, userId)
  const identity = await identityOf(ctx, userId)
  const done = DONE[query.done ?? '']
  const longest = html` autocomplete="new-password" maxlength="${MAX_PASSWORD_LENGTH * 4}"`
  return consolePage(
    ctx,
    { person: true, tab: 'security' },
    {
      title: 'Password and sessions',
      body: html`<div class="top"><h1>Password and sessions</h1></div>
${done !== undefined && html`<p class="notice" role="status">${done}</p>`}
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${SECURITY}/password">
${csrfFields(ctx)}
<h2>Change the password</h2>
<input type="text" name="username" value="${username}" autocomplete="username" hidden>
${field('password', 'Present password', { type: 'password', required: true, refused, attributes: html` autocomplete="current-password" maxlength="1024"` })}
${field('next', 'New password', { type: 'password', required: true, refused, hint: PASSWORD_RULE, attributes: html`${longest} minlength="${MIN_PASSWORD_LENGTH}"` })}
${field('again', 'The same again', { type: 'password', required: true, refused, attributes: longest })}
<p class="actions"><button>Change the password</button></p>
</form>
${
  identity &&
  html`<h2>Single sign-on</h2>
<p>Whoever <strong>${identity.host}</strong> says is you signs in as you. It said so ${relativeTime(identity.checkedAt, ctx.now)}. An operator can remove this.</p>`
}
<h2>Sessions</h2>
<p class="soft">The browsers in which you are signed in. A session ends by itself ${ctx.deps.config.sessions.lastMs / 86_400_000} days after you signed in, and that of an operator when it is not used for ${ctx.deps.config.sessions.operatorIdleMs / 3_600_000} hours.</p>
${sessionTable(ctx, sessions)}
${sessions.length > 1 && button(ctx, `${SECURITY}/sessions/others/end`, 'Sign out everywhere else', { look: 'quiet' })}`,
    },
  )
}

function sessionTable(ctx: UserPageCtx, sessions: readonly OwnSession[]): Html {
  const row = (one: OwnSession) => {
    const here = one.hash === ctx.user.sessionHash
    const where = browserOf(one.agent)
    return html`<tr><td>${where}${here && html` <span class="tag">this browser</span>`}</td><td>${one.address ?? html`<span class="soft">not noted</span>`}</td>
<td>${relativeTime(one.created_at, ctx.now)}</td><td>${here ? 'now' : relativeTime(one.used_at, ctx.now)}</td>
<td class="act">${!here && button(ctx, `${SECURITY}/sessions/${one.id}/end`, 'Sign out', { label: `Sign out: ${where}, ${one.address ?? one.id}` })}</td></tr>`
  }
  return dataTable('Sessions', ['Browser', 'Address', 'Signed in', 'Last used', 'Actions'], sessions.map(row))
}

/** TABLE what browsers and systems call themselves, the more exact name first. */
const BROWSERS = { 'Edg/': 'Edge', 'OPR/': 'Opera', 'Firefox/': 'Firefox', 'Chrome/': 'Chrome', 'Safari/': 'Safari' }
const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  'Mac OS': 'macOS',
  Linux: 'Linux',
}

/** `Firefox on Linux`; what a browser calls itself where it is none of these. */
function browserOf(agent: string | null): string {
  const nameIn = (table: Record<string, string>) => Object.entries(table).find(([mark]) => agent?.includes(mark))?.[1]
  const browser = nameIn(BROWSERS)
  const system = nameIn(SYSTEMS)
  if (browser === undefined) return agent?.slice(0, 40) || 'Unknown browser'
  return system === undefined ? browser : `${browser} on ${system}`
}

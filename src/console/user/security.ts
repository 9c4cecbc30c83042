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
import { button, cardTitle } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { personPage, personPath } from '../frame.ts'
import { placeCells, sessionBrowser } from '../names/browsers.ts'
import { relativeTime } from '../time.ts'

const SECURITY = personPath('security')
/** Fits every password and limits the cost of hashing. */
const Typed = Type.String({ maxLength: 1024 })
const NewPassword = Type.Object({ password: Typed, next: Typed, again: Typed })
const DONE = {
  password: 'Password changed. All other sessions have ended.',
  ended: 'Browser signed out.',
  others: 'Signed out everywhere else.',
}

export const securityScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: SECURITY,
    name: 'showSecurity',
    run: (ctx) => showSecurity(ctx),
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/password`,
    name: 'changePassword',
    form: NewPassword,
    prepare: (ctx, { form }) => preparePassword(ctx, form),
    run: choose,
    renderErrors: (ctx, _input, refusal) => showSecurity(ctx, formErrorOf(refusal, {})),
    refuses: ['rate_limited'],
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/sessions/others/end`,
    name: 'endOtherSessions',
    run: async (ctx): Promise<View> => {
      await endOtherSessions(ctx, ctx.user.userId, ctx.user.sessionHash)
      return { redirectTo: SECURITY, done: DONE.others, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
  }),
  userScreen({
    method: 'POST',
    path: `${SECURITY}/sessions/:sessionId/end`,
    name: 'endOwnSession',
    run: async (ctx, { params }): Promise<View> => {
      await endOwnSession(ctx, ctx.user.userId, params.sessionId!)
      return { redirectTo: SECURITY, done: DONE.ended, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
    renderErrors: (ctx, _input, refusal) => showSecurity(ctx, formErrorOf(refusal, {})),
  }),
]

async function choose(ctx: UserPageCtx, _input: ScreenInput, chosen: PasswordChangeResult): Promise<View> {
  const formError = (field: string, message: string) => ({ field, message, typed: {}, extra: {} })
  if ('fault' in chosen) return { ...(await showSecurity(ctx, formError(chosen.field, chosen.fault))), status: 422 }
  // A refusal would roll back the count of wrong passwords, so this is a response.
  if (!(await changePassword(ctx, chosen))) {
    const wrong = formError('password', 'The current password is wrong.')
    return { ...(await showSecurity(ctx, wrong)), status: 403 }
  }
  return { redirectTo: SECURITY, done: DONE.password, audit: { by: ctx, subjectId: ctx.user.userId } }
}

async function showSecurity(ctx: UserPageCtx, error?: FormError) {
  const { userId, username } = ctx.user
  const sessions = await listSessionsOf(ctx, userId)
  const identity = await identityOf(ctx, userId)
  const longest = html` autocomplete="new-password" maxlength="${MAX_PASSWORD_LENGTH * 4}"`
  return personPage(ctx, 'security', {
    title: 'Password and sessions',
    body: html`<div class="head"><h1>Password and sessions</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${SECURITY}/password">
${csrfFields(ctx)}
${cardTitle('Change password', 'All other sessions end.')}
<input type="text" name="username" value="${username}" autocomplete="username" hidden>
${field('password', 'Current password', { type: 'password', required: true, error, attributes: html` autocomplete="current-password" maxlength="1024"` })}
${field('next', 'New password', { type: 'password', required: true, error, hint: PASSWORD_RULE, attributes: html`${longest} minlength="${MIN_PASSWORD_LENGTH}"` })}
${field('again', 'Confirm password', { type: 'password', required: true, error, attributes: longest })}
<p class="line"><button class="btn primary">Change password</button></p>
</form>
${
  identity &&
  html`<section class="card in stack">${cardTitle('Single sign-on', 'An operator can remove the link.')}
<p>Your account is linked to <strong>${identity.host}</strong>. Last confirmed ${relativeTime(identity.checkedAt, ctx.now)}.</p></section>`
}
<h2>Sessions</h2>
<p class="soft">Browsers in which you are signed in. Sessions expire ${ctx.deps.config.sessions.lastMs / 86_400_000} days after sign-in. Operator sessions also expire after ${ctx.deps.config.sessions.operatorIdleMs / 3_600_000} hours without use.</p>
${sessionTable(ctx, sessions)}
${sessions.length > 1 && button(ctx, `${SECURITY}/sessions/others/end`, 'Sign out everywhere else', { look: '' })}`,
  })
}

function sessionTable(ctx: UserPageCtx, sessions: readonly OwnSession[]): Html {
  const row = (session: OwnSession) => {
    const here = session.hash === ctx.user.sessionHash
    const where = sessionBrowser(session.agent)
    return html`<tr>${placeCells(session.agent, session.address, here && html` <span class="badge">This browser</span>`)}
<td>${relativeTime(session.created_at, ctx.now)}</td><td>${here ? 'now' : relativeTime(session.used_at, ctx.now)}</td>
<td class="act">${!here && button(ctx, `${SECURITY}/sessions/${session.id}/end`, 'Sign out', { label: `Sign out: ${where}, ${session.address ?? session.id}` })}</td></tr>`
  }
  return dataTable('Sessions', ['Browser', 'IP address', 'Signed in', 'Last used', 'Actions'], sessions.map(row))
}

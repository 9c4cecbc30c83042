import type { Static } from 'typebox'
import { Email, Name, Slug } from '../../accounts/accounts/schema.ts'
import { confirmEmailChange, findEmailChange, requestEmailChange, updateProfile } from '../../accounts/users/profile.ts'
import { timeZones } from '../../platform/pages/cookies.ts'
import { html } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { type Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { LinkQuery, OneOf } from '../../platform/schema/fields.ts'
import { field, formErrorNotice, formErrorOf } from '../action.ts'
import { cardTitle } from '../controls.ts'
import { changedBody, editFields, withInitialValues } from '../edit-form.ts'
import { type Choice, copyable, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { personPage, personPath } from '../frame.ts'
import { storageCard } from '../team/storage.ts'

const PROFILE = personPath()
const EMAIL = personPath('email')
const Profile = Type.Object({ name: Type.Optional(Type.Union([Name, Type.Literal('')])), username: Slug })
const NewEmail = Type.Object({ email: Email })
const DONE = {
  profile: 'Profile updated.',
  asked: 'A link was sent to the new address. Your email changes when you open it.',
  email: 'Email updated.',
  theme: 'Theme changed in this browser.',
  timeZone: 'Time zone changed in this browser.',
}

const THEMES: readonly Choice[] = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]
const ThemeForm = Type.Object({ theme: OneOf('system', 'light', 'dark') })
const TimeZoneForm = Type.Object({ timeZone: Type.String({ maxLength: 64 }) })

export const profileScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: PROFILE,
    name: 'showProfile',
    run: (ctx) => showProfile(ctx),
  }),
  userScreen({
    method: 'POST',
    path: PROFILE,
    name: 'changeProfile',
    form: withInitialValues(Profile),
    run: async (ctx, { form }): Promise<View> => {
      const change = changedBody(Profile, form, asProfile)
      if (change === undefined) return { redirectTo: PROFILE }
      await updateProfile(ctx, change)
      const done = { by: ctx, subjectId: ctx.user.userId, fields: Object.keys(change) }
      return { redirectTo: PROFILE, done: DONE.profile, audit: done }
    },
    renderErrors: showRefused,
    savesForm: true,
    refuses: ['slug_taken', 'too_many_slugs'],
  }),
  userScreen({
    method: 'POST',
    path: `${PROFILE}/theme`,
    name: 'changeTheme',
    form: ThemeForm,
    run: (_ctx, { form: { theme } }): View => ({
      redirectTo: PROFILE,
      done: DONE.theme,
      theme: theme === 'system' ? null : theme,
    }),
  }),
  userScreen({
    method: 'POST',
    path: `${PROFILE}/time-zone`,
    name: 'changeTimeZone',
    form: TimeZoneForm,
    run: (_ctx, { form: { timeZone } }): View => {
      if (!timeZones().includes(timeZone)) refuse('bad_request', 'Invalid request: `timeZone` must be one of the list.')
      return { redirectTo: PROFILE, done: DONE.timeZone, timeZone: timeZone === 'UTC' ? null : timeZone }
    },
  }),
  userScreen({
    method: 'POST',
    path: `${EMAIL}/change`,
    name: 'askForEmail',
    form: NewEmail,
    // Sign-in links go there.
    requiresReauthentication: true,
    run: async (ctx, { form }): Promise<View> => {
      await requestEmailChange(ctx, form.email)
      return { redirectTo: PROFILE, done: DONE.asked, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
    renderErrors: showRefused,
    savesForm: true,
    refuses: ['missing_permission', 'rate_limited'],
  }),
  userScreen({
    method: 'GET',
    path: EMAIL,
    name: 'showEmailChange',
    query: LinkQuery,
    run: (ctx, input) => showLink(ctx, input),
    refuses: ['email_link_spent'],
  }),
  userScreen({
    method: 'POST',
    path: EMAIL,
    name: 'confirmEmail',
    query: LinkQuery,
    form: Type.Object({}),
    run: async (ctx, { query }): Promise<View> => {
      await confirmEmailChange(ctx, query.link ?? '')
      return { redirectTo: PROFILE, done: DONE.email, audit: { by: ctx, subjectId: ctx.user.userId } }
    },
    renderErrors: (ctx, input, refusal) => showLink(ctx, input, formErrorOf(refusal, {})),
    refuses: ['email_link_spent', 'email_taken'],
  }),
]

function asProfile({ name, username }: Static<typeof Profile>) {
  return { name: name?.trim() || null, username }
}

function showRefused(ctx: UserPageCtx, input: ScreenInput, refusal: Refusal) {
  return showProfile(ctx, formErrorOf(refusal, input.form, { slug: 'username' }))
}

async function showProfile(ctx: UserPageCtx, error?: FormError) {
  const { userId } = ctx.user
  const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
  const ofEmail = error !== undefined && 'email' in error.typed
  return personPage(ctx, '', {
    title: 'Profile',
    body: html`<div class="head"><h1>Your account</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${PROFILE}">
${cardTitle('Profile', 'Other members see your name.')}
${editFields(
  ctx,
  ofEmail ? undefined : error,
  (
    error,
  ) => html`${field('name', 'Name', { value: row.name ?? '', error, attributes: html` autocomplete="name" maxlength="100"` })}
${field('username', 'Username', { value: row.slug, required: true, error, hint: 'It is also the slug of your personal account. Anything that still uses the old name stops working. The old name stays reserved for 90 days.', attributes: html` autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="48"` })}`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>
<section class="card in stack">${cardTitle('Email', 'You sign in with it, and Berth sends email to it.')}
<p>${row.email ?? 'None'}</p>
${ctx.deps.config.mail.smtp === undefined ? html`<p class="soft">Email isn't set up on this server. ${ctx.user.isOperator ? 'Change your address under Operator › Users.' : 'Ask an operator to change your address.'}</p>` : emailForm(ctx, ofEmail ? error : undefined)}
</section>
<form class="card in stack form" method="post" action="${PROFILE}/theme" data-turbo="false">
${cardTitle('Appearance', 'Of this browser.')}
${csrfFields(ctx)}${select('theme', 'Theme', THEMES, { value: ctx.theme ?? 'system' })}
<p class="line"><button class="btn">Change theme</button></p></form>
${timeZoneForm(ctx)}
${await storageCard(ctx, userId)}
<section class="card in stack">${cardTitle('Account')}<dl class="facts"><dt>ID</dt><dd>${copyable(row.id, 'id')}</dd><dt>Plan</dt><dd>${row.plan}</dd></dl>
<p><a href="/invitations">Team invitations</a></p></section>`,
  })
}

function timeZoneForm(ctx: UserPageCtx) {
  const zones = timeZones().map((zone): Choice => [zone, zone.replaceAll('_', ' ')])
  return html`<form class="card in stack form" method="post" action="${PROFILE}/time-zone" data-turbo="false">
${cardTitle('Time zone', 'Of exact times in this browser. Schedules and days of filters stay in UTC.')}
${csrfFields(ctx)}${select('timeZone', 'Time zone', zones, { value: ctx.timeZone ?? 'UTC' })}
<p class="line"><button class="btn">Change time zone</button></p></form>`
}

function emailForm(ctx: UserPageCtx, error: FormError | undefined) {
  return html`<form class="stack" method="post" action="${EMAIL}/change">
${csrfFields(ctx)}
${field('email', 'New email', { type: 'email', required: true, error, hint: 'Receives a link. Your email changes when you open it.', attributes: html` autocomplete="email" maxlength="254"` })}
<p class="line"><button class="btn">Change email</button></p></form>`
}

async function showLink(ctx: UserPageCtx, { query, url }: ScreenInput<Static<typeof LinkQuery>>, error?: FormError) {
  const { email } = await findEmailChange(ctx, query.link ?? '')
  return personPage(ctx, '', {
    title: 'Change your email',
    body: html`<div class="head"><h1>Change your email</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">${csrfFields(ctx)}
<p>Your email will be <strong>${email}</strong>. You sign in with it, and Berth sends email to it.</p>
<p class="line"><button class="btn primary">Change email</button><a class="btn" href="${PROFILE}">Not now</a></p></form>`,
  })
}

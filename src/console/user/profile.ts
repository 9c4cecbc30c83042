/** The page of a person: name, username and email. No token changes them. docs/accounts.md: Your account. */
import type { Static } from 'typebox'
import { Email, Name, Slug } from '../../accounts/accounts/schema.ts'
import { askForEmail, changeProfile, confirmEmail, findEmailChange } from '../../accounts/users/profile.ts'
import { html } from '../../platform/pages/html.ts'
import {
  type PersonCtx,
  personScreen,
  type Screen,
  type ScreenInput,
  tokenField,
  type View,
} from '../../platform/pages/screen.ts'
import type { Refusal } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { LinkQuery } from '../../platform/schema/fields.ts'
import { faultOf, field, refusedOf } from '../action.ts'
import { changeFields, changeIn, withWas } from '../edit-form.ts'
import { copyable } from '../fields.ts'
import { personPath, showPage } from '../frame.ts'
import type { Refused } from '../refused.ts'

const PROFILE = personPath()
const EMAIL = personPath('email')
const Query = Type.Object({ done: Type.Optional(Type.String({ maxLength: 20 })) })
const Profile = Type.Object({ name: Type.Optional(Type.Union([Name, Type.Literal('')])), username: Slug })
const NewEmail = Type.Object({ email: Email })
const DONE: Record<string, string> = {
  profile: 'Your profile is changed.',
  asked: 'A link is on its way to the new address. Your email changes once you open it.',
  email: 'Your email is changed.',
}

export const profileScreens: readonly Screen[] = [
  personScreen({
    method: 'GET',
    path: PROFILE,
    name: 'showProfile',
    query: Query,
    run: (ctx, input) => showProfile(ctx, input),
  }),
  personScreen({
    method: 'POST',
    path: PROFILE,
    name: 'changeProfile',
    form: withWas(Profile),
    run: async (ctx, { form }): Promise<View> => {
      const change = changeIn(Profile, form, asProfile)
      if (change === undefined) return { to: `${PROFILE}?done=profile` }
      await changeProfile(ctx, change)
      const done = { by: ctx, subjectId: ctx.visitor.userId, fields: Object.keys(change) }
      return { to: `${PROFILE}?done=profile`, done }
    },
    again: showRefused,
    keeps: true,
    refuses: ['slug_taken', 'too_many_slugs'],
  }),
  personScreen({
    method: 'POST',
    path: `${EMAIL}/change`,
    name: 'askForEmail',
    form: NewEmail,
    // Letters by which people come in go there.
    fresh: true,
    run: async (ctx, { form }): Promise<View> => {
      await askForEmail(ctx, form.email)
      return { to: `${PROFILE}?done=asked`, done: { by: ctx, subjectId: ctx.visitor.userId } }
    },
    again: showRefused,
    keeps: true,
    refuses: ['missing_permission', 'rate_limited'],
  }),
  personScreen({
    method: 'GET',
    path: EMAIL,
    name: 'showEmailChange',
    query: LinkQuery,
    run: (ctx, input) => showLink(ctx, input),
    refuses: ['email_link_spent'],
  }),
  personScreen({
    method: 'POST',
    path: EMAIL,
    name: 'confirmEmail',
    query: LinkQuery,
    form: Type.Object({}),
    run: async (ctx, { query }): Promise<View> => {
      await confirmEmail(ctx, query.link ?? '')
      return { to: `${PROFILE}?done=email`, done: { by: ctx, subjectId: ctx.visitor.userId } }
    },
    again: (ctx, input, refusal) => showLink(ctx, input, refusedOf(refusal, {})),
    refuses: ['email_link_spent', 'email_taken'],
  }),
]

function asProfile({ name, username }: Static<typeof Profile>) {
  return { name: name?.trim() || null, username }
}

function showRefused(ctx: PersonCtx, input: ScreenInput, refusal: Refusal) {
  return showProfile(ctx, { ...input, query: {} }, refusedOf(refusal, input.form, { slug: 'username' }))
}

async function showProfile(ctx: PersonCtx, { query }: ScreenInput<Static<typeof Query>>, refused?: Refused) {
  const { userId } = ctx.visitor
  const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
  const ofEmail = refused !== undefined && 'email' in refused.typed
  const done = DONE[query.done ?? '']
  return showPage(
    ctx,
    { person: true, tab: '' },
    {
      title: 'Profile',
      body: html`<div class="top"><h1>Your account</h1></div>
${done !== undefined && html`<p class="notice" role="status">${done}</p>`}
${faultOf(refused)}
<form class="stack card" method="post" action="${PROFILE}">
<h2>Profile</h2>
${changeFields(
  ctx,
  ofEmail ? undefined : refused,
  (
    refused,
  ) => html`${field('name', 'Name', { value: row.name ?? '', refused, attributes: html` autocomplete="name" maxlength="100"` })}
${field('username', 'Username', { value: row.slug, required: true, refused, hint: 'It is also the address of your personal account. What still uses the old one fails. For 90 days nobody else can take it.', attributes: html` autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="48"` })}`,
)}
<p class="actions"><button>Save</button></p>
</form>
<section class="card"><h2>Email</h2>
<p>${row.email ?? 'none'}</p>
${ctx.deps.config.mail.smtp === undefined ? html`<p class="soft">This service sends no email, so whoever runs it changes yours.</p>` : emailForm(ctx, ofEmail ? refused : undefined)}
</section>
<section class="card"><h2>Account</h2><dl class="facts"><dt>Id</dt><dd>${copyable(row.id, 'id')}</dd><dt>Plan</dt><dd>${row.plan}</dd></dl>
<p><a href="/invitations">Invitations to teams</a></p></section>`,
    },
  )
}

function emailForm(ctx: PersonCtx, refused: Refused | undefined) {
  return html`<form class="stack" method="post" action="${EMAIL}/change">
${tokenField(ctx)}
${field('email', 'New email', { type: 'email', required: true, refused, hint: 'A link goes there. Your email changes once you open it.', attributes: html` autocomplete="email" maxlength="254"` })}
<p class="actions"><button class="quiet">Change the email</button></p></form>`
}

async function showLink(ctx: PersonCtx, { query, url }: ScreenInput<Static<typeof LinkQuery>>, refused?: Refused) {
  const { email } = await findEmailChange(ctx, query.link ?? '')
  return showPage(
    ctx,
    { person: true, tab: '' },
    {
      title: 'Change your email',
      body: html`<div class="top"><h1>Change your email</h1></div>
${faultOf(refused)}
<form class="stack card" method="post" action="${url}">${tokenField(ctx)}
<p>From now on you are <strong>${email}</strong>. You sign in with it, and letters go there.</p>
<p class="actions"><button>Change the email</button><a class="button quiet" href="${PROFILE}">Not now</a></p></form>`,
    },
  )
}

/** Sign-in with a provider (OpenID Connect Core 1.0, code flow). docs/single-sign-on.md. */

import type { Static } from 'typebox'
import type { Actor, OperatorCtx } from '../../context.ts'
import { type IdentityClaims, ProviderError } from '../../platform/adapters/identity-provider.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import { type PageCtx, type Screen, type ScreenInput, screen, type View } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { READERS } from '../../readers.ts'
import { isEmail } from '../accounts/schema.ts'
import { providerButton, SINGLE_SIGN_ON } from '../sign-in/provider-button.ts'
import { endSession, markReauthenticated, startSession } from '../sign-in/sessions.ts'
import { createAuthorizationState, readAuthorizationState, type SignInPurpose } from './authorization-state.ts'
import { acceptPlaces } from './groups.ts'
import {
  confirmIdentity,
  createPerson,
  findByEmail,
  findIdentity,
  linkIdentity,
  mailIdentityLink,
} from './identities.ts'
import { identityLinkScreens } from './link-page.ts'
import { savedFormScreens } from './saved-form-page.ts'

const HOME = '/console'
const CALLBACK = `${SINGLE_SIGN_ON}/callback`
const BeginQuery = Type.Object({
  return: Type.Optional(Type.String()),
  again: Type.Optional(Type.Literal('yes')),
})
/** RFC 6749 4.1.2, RFC 9207. The library reads other parameters from the full URL. */
const CallbackQuery = Type.Object({
  state: Type.Optional(Type.String({ maxLength: READERS['state of single sign-on'].bytes })),
})

type BeginInput = ScreenInput<Static<typeof BeginQuery>>
type CallbackInput = ScreenInput<Static<typeof CallbackQuery>>

/** The claims of the provider, or an error message. */
type Outcome = { vouched: IdentityClaims; purpose: SignInPurpose } | { why: string; status: number }

export const singleSignOnScreens: readonly Screen[] = [
  screen({ method: 'GET', path: SINGLE_SIGN_ON, name: 'beginSingleSignOn', query: BeginQuery, run: begin }),
  screen({
    method: 'GET',
    path: CALLBACK,
    name: 'signInBySingleSignOn',
    query: CallbackQuery,
    writes: true,
    prepare: redeem,
    run: admit,
    refuses: ['identity_taken', 'email_taken', 'slug_taken', 'rate_limited', 'busy', 'storage_full', 'overloaded'],
  }),
  ...identityLinkScreens,
  ...savedFormScreens,
]

async function begin(ctx: PageCtx, { query }: BeginInput): Promise<View> {
  const { provider } = ctx.deps.adapters
  if (provider === undefined) return { redirectTo: '/sign-in' }
  const purpose = { to: localPath(query.return, HOME), again: query.again === 'yes' }
  const tie = createAuthorizationState(ctx.csrfToken, purpose, ctx.now)
  try {
    return { redirectTo: await provider.addressOf(`${ctx.deps.origin()}${CALLBACK}`, tie, purpose.again) }
  } catch (error) {
    return failed(ctx, whyNot(ctx, error))
  }
}

async function redeem(ctx: PageCtx, { query, url }: CallbackInput): Promise<Outcome> {
  const { provider } = ctx.deps.adapters
  if (provider === undefined) return { why: 'Single sign-on is not set up here.', status: 403 }
  const read = readAuthorizationState(ctx.csrfToken, query.state ?? '', ctx.now)
  if (read === undefined)
    return { why: 'This sign-in was begun in another browser, was used, or is older than 10 minutes.', status: 403 }
  const { limits } = ctx.deps
  // A forged callback causes a call to the provider each time, and the provider might block Berth.
  rejectIfExceeded(await limits.consume('sign-in-failures', ctx.address, ctx.now), ctx.now, 'failed sign-ins')
  try {
    const { tie, purpose } = read
    const vouched = await provider.redeem(new URL(url, ctx.deps.origin()), tie, purpose.again)
    await limits.refund('sign-in-failures', ctx.address, ctx.now)
    return { vouched, purpose }
  } catch (error) {
    return whyNot(ctx, error)
  }
}

/** The message for the user. The details are in the log, for the operator. */
function whyNot(ctx: PageCtx, error: unknown): { why: string; status: number } {
  if (!(error instanceof ProviderError)) throw error
  const name = ctx.deps.adapters.provider!.name
  ctx.deps.log.warn({ why: error.message, provider: name }, 'a sign-in by the provider failed')
  return error.unavailable
    ? { why: `${name} is unavailable. Try again shortly.`, status: 503 }
    : { why: `${name} did not confirm your identity.`, status: 403 }
}

/** Signs in a bound or new user. If the address belongs to an existing user, emails them a link instead. */
async function admit(ctx: PageCtx, _: CallbackInput, outcome: Outcome): Promise<View> {
  if ('why' in outcome) return failed(ctx, outcome)
  const { vouched, purpose } = outcome
  const { name } = ctx.deps.adapters.provider!
  const identity = await findIdentity(ctx, vouched)
  if (purpose.again) return confirmVisitor(ctx, identity?.user_id, vouched, purpose)
  if (identity !== undefined) return enter(ctx, identity.user_id, vouched, purpose)
  const { email } = vouched
  // The provider verified the original spelling, so check it before lower-casing.
  if (email === undefined || !isEmail(email) || !vouched.emailVerified)
    return failed(ctx, {
      why: `${name} does not confirm that your email address is verified. Contact its operator.`,
      status: 403,
    })
  const existing = await findByEmail(ctx, email)
  if (existing !== undefined) {
    await mailIdentityLink(ctx, existing, vouched)
    return askOf(ctx, email, existing.id)
  }
  const userId = await createPerson(ctx, { ...vouched, email })
  await linkIdentity(ctx, userId, vouched)
  return enter(ctx, userId, vouched, purpose)
}

async function enter(ctx: PageCtx, userId: string, vouched: IdentityClaims, { to }: SignInPurpose): Promise<View> {
  if (await isSuspended(ctx, userId))
    return failed(ctx, { why: 'You are suspended here. Contact the operator of this service.', status: 403 })
  const by = asPerson(ctx, userId)
  await confirmIdentity(by, userId, vouched)
  await acceptPlaces(by, userId)
  if (ctx.user) await endSession(ctx, ctx.user.sessionHash)
  return { redirectTo: to, session: await startSession(ctx, userId), audit: { by, subjectId: userId } }
}

/** Confirms the current session if it belongs to the user of the claims. */
async function confirmVisitor(
  ctx: PageCtx,
  userId: string | undefined,
  vouched: IdentityClaims,
  { to }: SignInPurpose,
): Promise<View> {
  if (ctx.user === undefined || userId !== ctx.user.userId)
    return failed(ctx, { why: 'You confirmed as another user than the one who is signed in.', status: 403 })
  const by = asPerson(ctx, userId)
  await confirmIdentity(by, userId, vouched)
  await markReauthenticated(ctx, ctx.user.sessionHash)
  return { redirectTo: to, audit: { by, subjectId: userId } }
}

/** Whether a user is suspended for a reason other than a missing confirmation by the provider. */
async function isSuspended({ db }: OperatorCtx, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('account')
    .leftJoin('identity', 'identity.user_id', 'account.id')
    .select(['account.suspended_at', 'identity.ended_at'])
    .where('account.id', '=', userId)
    .executeTakeFirstOrThrow()
  return row.suspended_at !== null && row.suspended_at !== row.ended_at
}

function asPerson(ctx: PageCtx, id: string): PageCtx & { actor: Actor } {
  return { ...ctx, actor: { kind: 'user', id, tokenId: null } }
}

function failed(ctx: PageCtx, { why, status }: { why: string; status: number }): View {
  return {
    status,
    title: 'Sign-in failed',
    body: html`<h1>Sign-in failed</h1>
${note('bad', why, { role: 'alert' })}
${providerButton(ctx, undefined)}
<p><a href="/sign-in">Back to the sign-in</a></p>`,
  }
}

function askOf(ctx: PageCtx, email: string, subjectId: string): View {
  const { name } = ctx.deps.adapters.provider!
  return {
    title: 'Check your email',
    body: html`<h1>Check your email</h1>
<p>A user with the address ${email} exists. If that is you, open the link in the email to sign in with ${name} from now on.</p>`,
    audit: { by: ctx, subjectId },
  }
}

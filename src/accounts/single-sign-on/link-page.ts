/** The page of the emailed link, where an existing user confirms an identity. docs/single-sign-on.md: Account linking. */
import type { Static } from 'typebox'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { isRecentlyAuthenticated } from '../../platform/access/session.ts'
import { html } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type PageCtx,
  type Screen,
  type ScreenInput,
  screen,
  type View,
} from '../../platform/pages/screen.ts'
import { LinkQuery } from '../../platform/schema/fields.ts'
import { SINGLE_SIGN_ON } from '../sign-in/provider-button.ts'
import { findIdentityLink, type IdentityLink, redeemIdentityLink } from './identities.ts'

const PATH = `${SINGLE_SIGN_ON}/link`
type Input = ScreenInput<Static<typeof LinkQuery>>

export const identityLinkScreens: readonly Screen[] = [
  screen({
    method: 'GET',
    path: PATH,
    name: 'showIdentityLink',
    query: LinkQuery,
    run: showLink,
    refuses: ['identity_link_spent'],
  }),
  screen({
    method: 'POST',
    path: PATH,
    name: 'useIdentityLink',
    query: LinkQuery,
    run: useLink,
    refuses: ['identity_link_spent', 'identity_taken'],
  }),
]

async function showLink(ctx: PageCtx, { query, url }: Input): Promise<View> {
  const link = await findIdentityLink(ctx, query.link ?? '')
  const { host } = new URL(link.issuer)
  return (
    (await proofFirst(ctx, link, url)) ?? {
      title: `Sign in by ${host}`,
      body: html`<h1>Sign in by ${host}?</h1>
<p>From then on you sign in as <strong>${link.username}</strong> with ${host}, and your groups there grant your roles here.</p>
<form method="post" action="${url}">${csrfFields(ctx)}
<p class="line"><button class="btn primary">Yes, that is me</button></p></form>`,
    }
  )
}

async function useLink(ctx: PageCtx, { query, url }: Input): Promise<View> {
  const proof = await proofFirst(ctx, await findIdentityLink(ctx, query.link ?? ''), url)
  if (proof !== undefined) return proof
  const { userId } = await redeemIdentityLink(ctx, query.link ?? '')
  const by = { ...ctx, actor: { kind: 'user', id: userId, tokenId: null } as const }
  return { redirectTo: SINGLE_SIGN_ON, audit: { by, subjectId: userId } }
}

/** An attacker may read the user's email, so a user with a second factor must have used it within the last hour. Undefined when nothing is missing. */
async function proofFirst(ctx: PageCtx, { userId, username }: IdentityLink, url: string): Promise<View | undefined> {
  if (!(await hasSecondFactor(ctx.db, userId))) return undefined
  const back = `?return=${encodeURIComponent(url)}`
  if (ctx.user === undefined) return { redirectTo: `/sign-in${back}` }
  if (ctx.user.userId === userId)
    return isRecentlyAuthenticated(ctx.user, ctx.now) ? undefined : { redirectTo: `/confirm${back}` }
  return {
    status: 403,
    title: 'Sign in as another user',
    body: html`<h1>Sign in as another user</h1>
<p role="alert">This link is for <strong>${username}</strong>, who has a second factor. Sign out, sign in as ${username}, and open it again.</p>`,
  }
}

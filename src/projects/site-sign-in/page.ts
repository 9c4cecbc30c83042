/** Console page where a signed-in member continues to a protected site. docs/edge.md: Sign-in of members. */
import type { Static } from 'typebox'
import { findProject } from '../../model/project.ts'
import type { Row } from '../../platform/db/schema.ts'
import { html } from '../../platform/pages/html.ts'
import { accountContext, findOwnAccount, nameOf, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { guardOfSourceMap, requiresAdmission } from '../../platform/verdict/admission.ts'
import { isForMembers } from '../../platform/verdict/protection.ts'
import { hostOfSite, RETURN_PATH } from '../../platform/verdict/site-sign-in.ts'
import { judgeEntry } from '../../platform/verdict/verdict.ts'
import { findHost } from '../serving/find-host.ts'
import { issueSiteCode } from './site-sessions.ts'

const PATH = '/sites/sign-in'
const MAX_SITE = 300
const SiteQuery = Type.Object({
  site: Type.String({ maxLength: MAX_SITE }),
  /** `challengeOf` the state in the browser. */
  challenge: Type.String({ minLength: 43, maxLength: 43, pattern: '^[\\w-]{43}$' }),
})
type SiteInput = ScreenInput<Static<typeof SiteQuery>>

export const siteSignInScreens: readonly Screen[] = [
  userScreen({ method: 'GET', path: PATH, name: 'showSite', query: SiteQuery, run: showSite }),
  userScreen({ method: 'POST', path: PATH, name: 'enterSite', query: SiteQuery, run: enterSite }),
]

/** Opening a page must not change anything (docs/threats.md T135), and another site may redirect here, so a button is required. */
async function showSite(ctx: UserPageCtx, { query, url }: SiteInput): Promise<View> {
  const { host, project, account, seen } = await findSite(ctx, query.site)
  return {
    title: `Open ${host}`,
    formsTo: query.site,
    body: html`<h1>Open ${host}?</h1>
<p>Only members of <strong>${nameOf(account)}</strong> see ${seen} of the project <strong>${project.name}</strong>. You are signed in as
<strong>${ctx.user.username}</strong>.</p>
<p>The site does not learn who you are.</p>
<form method="post" action="${url}">
${csrfFields(ctx)}
<p class="line"><button class="btn primary">Open the site</button></p>
</form>`,
  }
}

async function enterSite(ctx: UserPageCtx, { query }: SiteInput): Promise<View> {
  const { host, project, account } = await findSite(ctx, query.site)
  const { userId, sessionHash } = ctx.user
  const code = await issueSiteCode(ctx, { host, project, challenge: query.challenge, userId, sessionHash })
  const by = accountContext(ctx, account)
  return { redirectTo: `${query.site}${RETURN_PATH}?code=${code}`, audit: { by, subjectId: project.id, fields: [] } }
}

/** `seen`: what only members can see. */
type Site = { host: string; project: Row<'project'>; account: OwnAccount; seen: string }

/** Returns the project of an origin. Refuses: not_found 404 (missing or invisible, same message), second_factor_required 403. */
async function findSite(ctx: UserPageCtx, site: string): Promise<Site> {
  const host = hostOfSite(site)
  const shown = host === undefined ? undefined : await shownToMembers(ctx, host)
  const found = shown === undefined ? undefined : await findSeen(ctx, shown.projectId)
  if (host === undefined || shown === undefined || found === undefined)
    refuse('not_found', 'No site at this address has a sign-in for members, or you are not a member of its account.')
  return { host, seen: shown.seen, ...found }
}

/** The project of a host's deployment with files, if a sign-in grants access to it or to its source maps. */
async function shownToMembers(
  ctx: UserPageCtx,
  host: string,
): Promise<{ projectId: string; seen: string } | undefined> {
  const entry = await findHost(ctx.db, host)
  const verdict = judgeEntry(entry, { port: '', scheme: 'https' })
  const guard = guardOfSourceMap(entry)
  if (!('live' in verdict) || verdict.live.output === null || guard === undefined) return undefined
  if (!isForMembers(guard.protection, guard)) return undefined
  return {
    projectId: verdict.live.projectId,
    seen: requiresAdmission(verdict.guard) ? 'this site' : 'the source maps of this site',
  }
}

/** Returns a project that the user can see, with its account. Refuses: second_factor_required 403. */
async function findSeen(ctx: UserPageCtx, projectId: string): Promise<Pick<Site, 'project' | 'account'> | undefined> {
  const owner = await ctx.db.selectFrom('project').select('account_id').where('id', '=', projectId).executeTakeFirst()
  if (owner === undefined) return undefined
  try {
    const account = await findOwnAccount(ctx, owner.account_id)
    const acting = accountContext(ctx, account)
    if (!acting.caller.permissions.has('project:read')) return undefined
    return { account, project: await findProject(acting, { idOrName: projectId }) }
  } catch (error) {
    if (error instanceof Refusal && error.key === 'not_found') return undefined
    throw error
  }
}

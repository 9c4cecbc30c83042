import type { Static } from 'typebox'
import type { InvitedMember, MemberList } from '../../accounts/members/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { ROLES } from '../../platform/permissions/roles.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { button, confirmedButton, dangerCard, paginationLinks, searchForm, sentenceCase } from '../controls.ts'
import { dataTable, select } from '../fields.ts'
import { accountPath, canInAccount, consolePage, findAccountOfPath } from '../frame.ts'
import type { Refused } from '../refused.ts'
import { relativeTime } from '../time.ts'

const LIST = '/console/t/:slug/members'
const PAGE = 50
const ListQuery = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  search: Type.Optional(Type.String({ maxLength: 100 })),
})
const Invitation = Type.Object({ email: Type.String(), role: Type.String() })
const NewRole = Type.Object({ role: Type.String() })
type Member = Static<typeof MemberList>['members'][number]

/** docs/accounts.md: Roles. */
const ROLE_WORDS: Record<(typeof ROLES)[number], string> = {
  OWNER: 'Owner: full access, including settings, members and apps',
  MEMBER: 'Member: projects, including production, and webhooks',
  DEVELOPER: 'Developer: projects, except production variables',
  VIEWER: 'Viewer: read-only access to projects',
  BILLING: 'Billing: sees the team, but no projects',
}
const ROLE_CHOICES = ROLES.map((role) => [role, ROLE_WORDS[role]] as const).reverse()

const shows = ['getTeamMembers'] as const
function team({ slug }: Record<string, string>) {
  return { idOrSlug: slug! }
}
function toList(_: unknown, { params }: ScreenInput): string {
  return accountPath({ slug: params.slug! }, 'members')
}

export const memberScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'consoleMembers',
    query: ListQuery,
    calls: shows,
    run: showMembers,
  }),
  consoleScreen({ method: 'GET', path: `${LIST}/invite`, name: 'consoleInvite', calls: [], run: showInvite }),
  action<typeof Invitation, Static<typeof InvitedMember>>({
    path: `${LIST}/invite`,
    name: 'consoleInviteMember',
    form: Invitation,
    asks: 'inviteUserToTeam',
    shows: [],
    wish: ({ params, form }) => ({ params: team(params), body: { email: form.email.trim(), role: form.role } }),
    to: (made, input, ctx) => showInvited(ctx, made, input),
    again: showInvite,
  }),
  action({
    path: `${LIST}/:uid/role`,
    name: 'consoleChangeRole',
    form: NewRole,
    asks: 'updateTeamMember',
    shows,
    wish: ({ params, form }) => ({ params: { ...team(params), uid: params.uid! }, body: { role: form.role } }),
    to: toList,
    again: showAgain,
  }),
  action({
    path: `${LIST}/:uid/remove`,
    name: 'consoleRemoveMember',
    asks: 'removeTeamMember',
    fresh: true,
    shows,
    wish: ({ params }) => ({ params: { ...team(params), uid: params.uid! } }),
    to: toList,
    again: showAgain,
  }),
  action({
    path: `${LIST}/:uid/leave`,
    name: 'consoleLeaveTeam',
    asks: 'removeTeamMember',
    shows,
    wish: ({ params }) => ({ params: { ...team(params), uid: params.uid! } }),
    to: () => '/console',
    again: showAgain,
  }),
]

function showAgain(ctx: ConsoleCtx, input: ScreenInput, refused?: Refused) {
  return showMembers(ctx, { ...input, query: {} }, refused)
}

async function showMembers(
  ctx: ConsoleCtx,
  { params, query }: ScreenInput<Static<typeof ListQuery>>,
  refused?: Refused,
) {
  const account = await findAccountOfPath(ctx, params)
  const { members, pagination } = await ctx.ask<Static<typeof MemberList>>('getTeamMembers', {
    account,
    params: team(params),
    query: { limit: String(PAGE), until: query.until, search: query.search || undefined },
  })
  const path = accountPath(account, 'members')
  const isOwner = canInAccount(account, 'member:write')
  const present = members.filter(({ confirmed }) => confirmed)
  const invited = members.filter(({ confirmed }) => !confirmed)
  return consolePage(
    ctx,
    { account, tab: 'members' },
    {
      title: 'Members',
      body: html`<div class="head"><h1>Members</h1>${isOwner && html`<a class="btn primary" href="${path}/invite">Invite member</a>`}</div>
${formErrorNotice(refused)}
${searchForm(path, 'Search members by name, username or email', 'Name or email', query.search)}
${present.length === 0 ? html`<p class="card empty">No members match.</p>` : table(ctx, account, present, isOwner)}
${invited.length > 0 && html`<h2>Invited</h2><p class="soft">They join when they accept. Invitations expire after 14 days.</p>${table(ctx, account, invited, isOwner)}`}
${paginationLinks(path, query, pagination.next)}
${dangerCard('Leave team', 'You lose access at once. Your tokens for this team are revoked. Your installations are disabled until an owner of the team becomes their owner.', confirmedButton(ctx, `${path}/${ctx.user.userId}/leave`, 'Leave team'))}`,
    },
  )
}

function table(ctx: ConsoleCtx, account: OwnAccount, members: readonly Member[], isOwner: boolean): Html {
  const confirmed = members[0]!.confirmed
  return dataTable(
    confirmed ? 'Members' : 'Invited',
    ['User', 'Email', 'Role', confirmed ? 'Joined' : 'Invited', isOwner && 'Actions'],
    members.map((one) => row(ctx, account, one, isOwner)),
  )
}

function row(ctx: ConsoleCtx, account: OwnAccount, one: Member, isOwner: boolean): Html {
  const path = accountPath(account, `members/${encodeURIComponent(one.uid)}`)
  const called = one.username || one.email
  const self = one.uid === ctx.user.userId
  return html`<tr><td>${one.name ?? (one.username || html`<span class="soft">Not registered yet</span>`)}${one.name && html`<br><span class="soft small">${one.username}</span>`}${self && html` <span class="badge">You</span>`}</td>
<td class="long">${one.email}</td><td>${isOwner ? roleForm(ctx, path, one, called) : sentenceCase(one.role)}</td><td>${relativeTime(one.createdAt, ctx.now)}</td>
${isOwner && html`<td class="act">${!self && removal(ctx, path, one.confirmed, called, account.slug)}</td>`}</tr>`
}

/** Removing a member revokes tokens and disables installations, so it needs confirmation. Withdrawing an invitation does not. */
function removal(ctx: ConsoleCtx, path: string, isMember: boolean, called: string, team: string): Html {
  if (!isMember) return button(ctx, `${path}/remove`, 'Withdraw', { label: `Withdraw: ${called}` })
  return confirmedButton(ctx, `${path}/remove`, 'Remove', {
    label: `Remove: ${called}`,
    look: 'small',
    asks: `Remove ${called} from ${team}? Their tokens for this team are revoked, and their installations are disabled.`,
  })
}

function roleForm(ctx: ConsoleCtx, path: string, { role }: Member, called: string): Html {
  return html`<form class="row" method="post" action="${path}/role">${csrfFields(ctx)}<select name="role" aria-label="Role of ${called}">${ROLES.map(
    (one) => html`<option value="${one}"${one === role && html` selected`}>${sentenceCase(one)}</option>`,
  )}</select><button class="btn small" aria-label="Change role of ${called}">Change role</button></form>`
}

async function showInvite(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'members' },
    {
      title: 'Invite member',
      body: html`<div class="head"><h1>Invite member</h1></div>
${formErrorNotice(refused)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${field('email', 'Email', { type: 'email', required: true, refused, hint: "They don't need an account yet.", attributes: html` autocomplete="off" maxlength="254"` })}
${select('role', 'Role', ROLE_CHOICES, { refused, value: 'MEMBER' })}
<p class="line"><button class="btn primary">Invite</button><a class="btn" href="${accountPath(account, 'members')}">Cancel</a></p>
</form>`,
    },
  )
}

async function showInvited(
  ctx: ConsoleCtx,
  { email, role, inviteUrl }: Static<typeof InvitedMember>,
  { params }: ScreenInput,
) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'members' },
    {
      title: 'Invited',
      body: html`<div class="head"><h1>${email} is invited</h1></div>
<section class="card in stack"><p>They join as <strong>${sentenceCase(role)}</strong> when they accept. Expires in 14 days.</p>
${
  inviteUrl === undefined
    ? html`<p>The link was sent to them by email.</p>`
    : html`<p>Email isn't set up on this server, so send them this link. It grants nothing until they sign in and accept.</p><pre class="secret">${inviteUrl}</pre>`
}</section>
<p><a class="btn primary" href="${accountPath(account, 'members')}">Back to members</a></p>`,
    },
  )
}

import type { Static } from 'typebox'
import type { MemberList } from '../../accounts/members/schema.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { avatar } from '../../platform/pages/face/initials.ts'
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
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, confirmedButton, dangerCard, paginationLinks, searchForm, sentenceCase } from '../controls.ts'
import { dataTable, pick } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { newUserPath } from '../names/new-user.ts'
import { secondFactorState } from '../second-factors/state.ts'
import { relativeTime } from '../time.ts'

const LIST = '/console/t/:slug/members'
const PAGE = 50
const ListQuery = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  search: Type.Optional(Type.String({ maxLength: 100 })),
})
const NewRole = Type.Object({ role: Type.String() })
type Member = Static<typeof MemberList>['members'][number]

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
  action({
    path: `${LIST}/:uid/role`,
    name: 'consoleChangeRole',
    form: NewRole,
    calls: 'updateTeamMember',
    renderCalls: shows,
    request: ({ params, form }) => ({ params: { ...team(params), uid: params.uid! }, body: { role: form.role } }),
    next: toList,
    renderErrors: showAgain,
  }),
  action({
    path: `${LIST}/:uid/remove`,
    name: 'consoleRemoveMember',
    calls: 'removeTeamMember',
    fresh: true,
    renderCalls: shows,
    request: ({ params }) => ({ params: { ...team(params), uid: params.uid! } }),
    next: toList,
    renderErrors: showAgain,
  }),
  action({
    path: `${LIST}/:uid/withdraw`,
    name: 'consoleWithdrawInvitation',
    calls: 'deleteTeamInviteCode',
    renderCalls: shows,
    // Of a user who accepted meanwhile there is no invitation, and the member stays.
    request: ({ params }) => ({ params: { ...team(params), inviteId: params.uid! } }),
    next: toList,
    renderErrors: showAgain,
  }),
  action({
    path: `${LIST}/:uid/leave`,
    name: 'consoleLeaveTeam',
    calls: 'removeTeamMember',
    renderCalls: shows,
    before: mustBeOneself,
    request: ({ params }) => ({ params: { ...team(params), uid: params.uid! } }),
    next: () => '/console',
    renderErrors: showAgain,
  }),
]

/** Removing others asks for a recent password, leaving does not. Refuses: not_found 404. */
async function mustBeOneself({ user }: ConsoleCtx, _: OwnAccount, { uid }: ScreenInput['params']): Promise<void> {
  if (uid !== user.userId) refuse('not_found', 'You can leave a team for yourself only.')
}

function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  return showMembers(ctx, { ...input, query: {} }, error)
}

async function showMembers(
  ctx: ConsoleCtx,
  { params, query }: ScreenInput<Static<typeof ListQuery>>,
  error?: FormError,
) {
  const account = await findAccountOfPath(ctx, params)
  const { members, pagination } = await ctx.callRoute<Static<typeof MemberList>>('getTeamMembers', {
    account,
    params: team(params),
    query: { limit: String(PAGE), until: query.until, search: query.search || undefined },
  })
  const path = accountPath(account, 'members')
  const isOwner = canInAccount(account, 'member:write')
  const present = members.filter(({ confirmed }) => confirmed)
  const invited = members.filter(({ confirmed }) => !confirmed)
  return accountPage(ctx, account, 'members', {
    title: 'Members',
    body: html`<div class="head"><h1>Members</h1>${isOwner && html`<a class="btn primary" href="${path}/invite">${icon('plus')}Invite member</a>`}</div>
${formErrorNotice(error)}
${searchForm(path, 'Search members by name, username or email', 'Name or email', query.search)}
${present.length === 0 ? html`<p class="card empty">No members match.</p>` : table(ctx, account, present, isOwner)}
${invited.length > 0 && html`<h2>Invited</h2><p class="soft">They join when they accept. Invitations expire after 14 days.</p>${table(ctx, account, invited, isOwner)}`}
${paginationLinks(path, query, pagination.next)}
${dangerCard('Leave team', 'You lose access at once. Your tokens for this team are revoked. Your installations are disabled until an owner of the team becomes their owner.', confirmedButton(ctx, `${path}/${ctx.user.userId}/leave`, 'Leave team'))}`,
  })
}

function table(ctx: ConsoleCtx, account: OwnAccount, members: readonly Member[], isOwner: boolean): Html {
  const confirmed = members[0]!.confirmed
  return dataTable(
    confirmed ? 'Members' : 'Invited',
    [
      'User',
      'Email',
      'Role',
      isOwner && confirmed && 'Two-factor',
      confirmed ? 'Joined' : 'Invited',
      isOwner && 'Actions',
    ],
    members.map((member) => row(ctx, account, member, isOwner)),
  )
}

function row(ctx: ConsoleCtx, account: OwnAccount, member: Member, isOwner: boolean): Html {
  const path = accountPath(account, `members/${encodeURIComponent(member.uid)}`)
  const called = member.username || member.email
  const self = member.uid === ctx.user.userId
  const shown = member.name ?? member.username
  const who = shown
    ? html`${shown}${self && html` <span class="badge">You</span>`}${member.name && html`<br><span class="soft small">${member.username}</span>`}`
    : html`<span class="soft">No account yet</span>${ctx.user.isOperator && html`<br><a href="${newUserPath(member.email)}">Create the account</a>`}`
  return html`<tr><td><div class="line one">${avatar(shown || member.email, 'm', member.username || member.email)}<div>${who}</div></div></td>
<td class="long">${member.email}</td><td>${isOwner ? roleForm(ctx, path, member, called) : sentenceCase(member.role)}</td>${member.secondFactor !== undefined && html`<td>${secondFactorState(member.secondFactor)}</td>`}<td>${relativeTime(member.createdAt, ctx.now)}</td>
${isOwner && html`<td class="act">${!self && removal(ctx, path, member.confirmed, called, account.slug)}</td>`}</tr>`
}

/** Removing a member revokes tokens and disables installations, so it needs confirmation. Withdrawing an invitation does not. */
function removal(ctx: ConsoleCtx, path: string, isMember: boolean, called: string, team: string): Html {
  if (!isMember) return button(ctx, `${path}/withdraw`, 'Withdraw', { label: `Withdraw: ${called}` })
  return confirmedButton(ctx, `${path}/remove`, 'Remove', {
    label: `Remove: ${called}`,
    look: 'small',
    asks: `Remove ${called} from ${team}? Their tokens for this team are revoked, and their installations are disabled.`,
  })
}

function roleForm(ctx: ConsoleCtx, path: string, { role }: Member, called: string): Html {
  return html`<form class="row" method="post" action="${path}/role">${csrfFields(ctx)}${pick(
    html`<select name="role" aria-label="Role of ${called}">${ROLES.map((level) => html`<option value="${level}"${level === role && html` selected`}>${sentenceCase(level)}</option>`)}</select>`,
  )}<button class="btn small" aria-label="Change role of ${called}">Change role</button></form>`
}

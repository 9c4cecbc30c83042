import type { Static } from 'typebox'
import type { CreatedPasswordLink, OperatorUser } from '../../accounts/accounts/schema.ts'
import type { PersonList, UserDetails } from '../../accounts/users/schema.ts'
import { state } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { ConsoleCtx, Screen, ScreenInput } from '../../platform/pages/screen.ts'
import { consoleScreen, csrfFields } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { button, cardTitle, heading, paginationLinks, searchForm, sentenceCase } from '../controls.ts'
import { copyable, dataTable } from '../fields.ts'
import { passwordLink, sendsMail, usernameFor } from '../names/new-user.ts'
import type { Refused } from '../refused.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'
import { removalForm, removalScreen, secondFactors, suspension } from './removal.ts'

const LIST = operatorPath('people')
const ONE = `${LIST}/:id`
const Invite = Type.Object({
  email: Type.String({ maxLength: 254 }),
  username: Type.String({ maxLength: 100 }),
  name: Type.Optional(Type.String({ maxLength: 100 })),
})
const InviteQuery = Type.Object({ email: Type.Optional(Type.String({ maxLength: 254 })) })
const Change = Type.Object({
  suspended: Type.Optional(Type.Literal('true')),
  operator: Type.Optional(Type.Literal('true')),
})
/** What the actions that end at the page of a user share. */
const BACK_TO_USER = {
  shows: ['operatorGetUser'],
  to: (_: unknown, { params }: Pick<ScreenInput, 'params'>) => operatorPath('people', params.id!),
  again: showPerson,
  fresh: true,
} as const
type Query = ScreenInput<Static<typeof ListQuery>>
type Made = Static<typeof CreatedPasswordLink>

export const operatorUserScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showPeople',
    query: ListQuery,
    calls: ['operatorListUsers'],
    requiresReauthentication: true,
    run: showPeople,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/invite`,
    name: 'showInvite',
    query: InviteQuery,
    calls: [],
    requiresReauthentication: true,
    run: (ctx, { query }) => showInvite(ctx, query.email),
  }),
  action<typeof Invite, Static<typeof OperatorUser>>({
    path: `${LIST}/invite`,
    name: 'consoleInvitePerson',
    form: Invite,
    asks: 'operatorCreateUser',
    shows: ['operatorMakePasswordLink'],
    wish: ({ form: { email, username, name } }) => ({
      body: { email: email.trim(), username: username.trim(), ...(name && { name }) },
    }),
    to: async (user, _, ctx) =>
      showLink(ctx, user, await ctx.ask<Made>('operatorMakePasswordLink', { params: { userId: user.id } })),
    again: (ctx, _, refused) => showInvite(ctx, undefined, refused),
    fresh: true,
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showPerson',
    calls: ['operatorGetUser'],
    requiresReauthentication: true,
    run: (ctx, input) => showPerson(ctx, input),
  }),
  // An unticked box is not sent and means false.
  ...(['suspended', 'operator'] as const).map((what) =>
    action<typeof Change>({
      path: `${ONE}/${what}`,
      name: `console-set-${what}`,
      form: Change,
      asks: 'operatorUpdateUser',
      wish: ({ params, form }) => ({ params: { userId: params.id! }, body: { [what]: form[what] === 'true' } }),
      ...BACK_TO_USER,
    }),
  ),
  removalScreen({
    list: LIST,
    name: 'consoleRemovePerson',
    asks: 'operatorDeleteUser',
    param: 'userId',
    shows: 'operatorGetUser',
    again: showPerson,
  }),
  action({
    path: `${ONE}/second-factors`,
    name: 'consoleRemoveSecondFactors',
    asks: 'operatorRemoveSecondFactors',
    wish: ({ params }) => ({ params: { userId: params.id! } }),
    ...BACK_TO_USER,
  }),
  action<typeof Change, Made>({
    path: `${ONE}/link`,
    name: 'consoleMakePasswordLink',
    asks: 'operatorMakePasswordLink',
    shows: ['operatorGetUser'],
    wish: ({ params }) => ({ params: { userId: params.id! } }),
    to: async (made, { params }, ctx) => showLink(ctx, await readUser(ctx, params.id!), made),
    again: showPerson,
    fresh: true,
  }),
]

async function showPeople(ctx: ConsoleCtx, { query }: Query): Promise<Page> {
  const { search, until } = query
  const { users, pagination } = await ctx.ask<Static<typeof PersonList>>('operatorListUsers', {
    query: { limit: ROWS, search: search || undefined, until },
  })
  return operatorPage(ctx, 'people', {
    title: 'People',
    body: html`${heading('People', html`<a class="btn primary" href="${LIST}/invite">Invite user</a>`)}
${searchForm(LIST, 'Search people by name or email', 'Name or email', search)}
${dataTable(
  'People',
  ['Username', 'Email', 'State', 'Plan', 'Last seen', 'Created'],
  users.map(
    (
      one,
    ) => html`<tr><td><a href="${operatorPath('people', one.id)}">${one.username}</a>${one.name && html`<br><span class="soft small">${one.name}</span>`}</td>
<td>${one.email}</td><td>${stateOf(one)}</td><td>${one.plan}</td>
<td>${lastSeen(ctx, one)}</td><td>${relativeTime(one.createdAt, ctx.now)}</td></tr>`,
  ),
  { none: search ? `No users match “${search}”.` : 'No users.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

/** `email`: an address that was invited to a team, and has no account. */
function showInvite(ctx: ConsoleCtx, email = '', refused?: Refused): Promise<Page> {
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return operatorPage(ctx, 'people', {
    title: 'Invite user',
    body: html`${heading('Invite user')}
${formErrorNotice(refused)}
<form class="card in stack form" method="post" action="${LIST}/invite" data-turbo="false">
${csrfFields(ctx)}
${field('email', 'Email', { value: email, required: true, refused, type: 'email', hint: sendsMail(ctx) ? 'Receives a link to set a password.' : "Email isn't set up on this server: you get a link to send to them.", attributes: plain })}
${field('username', 'Username', { value: usernameFor(email), required: true, refused, hint: 'Lowercase letters, digits, ".", "_" and "-". They can sign in with it or with the email.', attributes: plain })}
${field('name', 'Name', { refused, hint: 'Shown to other users.', attributes: html` autocomplete="off"` })}
<p class="line"><button class="btn primary">Invite</button><a class="btn" href="${LIST}">Cancel</a></p>
</form>`,
  })
}

function showLink(
  ctx: ConsoleCtx,
  { id, username, email }: Pick<Static<typeof OperatorUser>, 'id' | 'username' | 'email'>,
  made: Made,
): Promise<Page> {
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username)}
<section class="card in stack"><h2>Password link</h2>
${passwordLink(ctx, email, made)}
<p><a href="${operatorPath('people', id)}">Go to ${username}</a></p></section>`,
  })
}

async function showPerson(ctx: ConsoleCtx, { params }: Pick<ScreenInput, 'params'>, refused?: Refused): Promise<Page> {
  const person = await readUser(ctx, params.id!)
  const path = operatorPath('people', person.id)
  const { username, suspended, operator, teams, sessions, tokens } = person
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username, stateOf(person), html`<a class="btn" href="${operatorPath('audit')}?actor=${encodeURIComponent(person.id)}">Audit log of ${username}</a>`)}
${formErrorNotice(refused)}
<section class="card in stack"><dl class="facts">
<dt>Email</dt><dd>${person.email}</dd>
<dt>Name</dt><dd>${person.name ?? 'none'}</dd>
<dt>ID</dt><dd>${copyable(person.id, 'id')}</dd>
<dt>Plan</dt><dd>${person.plan}</dd>
<dt>Created</dt><dd>${relativeTime(person.createdAt, ctx.now)}</dd>
<dt>Last seen</dt><dd>${lastSeen(ctx, person)}</dd>
<dt>Sessions</dt><dd>${sessions.length === 0 ? 'none' : html`<ul class="plain">${sessions.map(({ createdAt, usedAt }) => html`<li>signed in ${relativeTime(createdAt, ctx.now)}, last used ${relativeTime(usedAt, ctx.now)}</li>`)}</ul>`}</dd>
<dt>Tokens</dt><dd>${tokens.length}</dd>
</dl></section>
<h2>Teams</h2>
${dataTable(
  'Teams of the user',
  ['Team', 'Role'],
  teams.map(
    (one) =>
      html`<tr><td><a href="${operatorPath('teams', one.id)}">${one.slug}</a></td><td>${sentenceCase(one.role)}</td></tr>`,
  ),
  { none: 'No teams.' },
)}
<section class="card in stack">${cardTitle('Password', `A link sets a new password, lifts a lock after wrong passwords and ends all sessions. ${sendsMail(ctx) ? `It is also sent to ${person.email}.` : "Email isn't set up on this server: send the link to them."}`)}
${button(ctx, `${path}/link`, 'Create password link', { look: '', showsOnce: true })}</section>
<section class="card in stack">${cardTitle('Role', operator ? 'Operator.' : 'Not an operator.')}
${button(ctx, `${path}/operator`, operator ? 'Remove operator role' : 'Make operator', { look: '', fields: operator ? {} : { operator: 'true' } })}</section>
${secondFactors(ctx, person)}
${suspension(ctx, path, suspended)}
${removalForm(ctx, path, {
  called: username,
  goes: 'Their personal account, tokens and sessions are deleted, and their name and email are erased.',
  forced: 'Also remove the projects of their personal account, and leave teams without an owner',
  refused,
})}`,
  })
}

function readUser(ctx: ConsoleCtx, userId: string): Promise<Static<typeof UserDetails>> {
  return ctx.ask('operatorGetUser', { params: { userId } })
}

/** Uses are stored with a delay, so the session user is shown as present. */
function lastSeen(ctx: ConsoleCtx, one: Pick<Static<typeof UserDetails>, 'id' | 'lastSeenAt' | 'createdAt'>): Html {
  return one.id === ctx.user.userId ? html`now` : lastUsedLabel(one.lastSeenAt, one.createdAt, ctx.now)
}

function stateOf({ suspended, operator }: { suspended: boolean; operator: boolean }): Html {
  return html`${suspended ? state('bad', 'Suspended', 'paused') : state('good', 'Active')}${operator && html` <span class="badge">Operator</span>`}`
}

import type { Static } from 'typebox'
import type { CreatedPasswordLink, OperatorUser } from '../../accounts/accounts/schema.ts'
import type { PersonList, UserDetails } from '../../accounts/users/schema.ts'
import { avatar } from '../../platform/pages/face/initials.ts'
import { state } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { ConsoleCtx, Screen, ScreenInput } from '../../platform/pages/screen.ts'
import { consoleScreen, csrfFields } from '../../platform/pages/screen.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { button, cardTitle, heading, paginationLinks, searchForm, sentenceCase } from '../controls.ts'
import { copyable, dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { createdWithoutLink, linkOrRefusal, passwordLink, sendsMail, usernameFor } from '../names/new-user.ts'
import { secondFactorState } from '../second-factors/state.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'
import { sessionsOf, tokensOf } from './people/sessions.ts'
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
  renderCalls: ['operatorGetUser'],
  next: (_: unknown, { params }: Pick<ScreenInput, 'params'>) => operatorPath('people', params.id!),
  renderErrors: showPerson,
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
    run: showPeople,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/invite`,
    name: 'showInvite',
    query: InviteQuery,
    calls: [],
    run: (ctx, { query }) => showInvite(ctx, query.email),
  }),
  action<typeof Invite, Static<typeof OperatorUser>>({
    path: `${LIST}/invite`,
    name: 'consoleInvitePerson',
    form: Invite,
    calls: 'operatorCreateUser',
    renderCalls: ['operatorMakePasswordLink'],
    request: ({ form: { email, username, name } }) => ({
      body: { email: email.trim(), username: username.trim(), ...(name && { name }) },
    }),
    // The account stays where its link is refused: the page then says how to get one.
    next: async (user, _, ctx) => showLink(ctx, user, await linkOrRefusal(ctx, user.id)),
    renderErrors: (ctx, _, error) => showInvite(ctx, undefined, error),
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showPerson',
    calls: ['operatorGetUser'],
    run: (ctx, input) => showPerson(ctx, input),
  }),
  // An unticked box is not sent and means false.
  ...(['suspended', 'operator'] as const).map((what) =>
    action<typeof Change>({
      path: `${ONE}/${what}`,
      name: `console-set-${what}`,
      form: Change,
      calls: 'operatorUpdateUser',
      request: ({ params, form }) => ({ params: { userId: params.id! }, body: { [what]: form[what] === 'true' } }),
      ...BACK_TO_USER,
    }),
  ),
  removalScreen({
    list: LIST,
    name: 'consoleRemovePerson',
    calls: 'operatorDeleteUser',
    param: 'userId',
    renderCalls: 'operatorGetUser',
    renderErrors: showPerson,
  }),
  action({
    path: `${ONE}/second-factors`,
    name: 'consoleRemoveSecondFactors',
    calls: 'operatorRemoveSecondFactors',
    request: ({ params }) => ({ params: { userId: params.id! } }),
    ...BACK_TO_USER,
  }),
  action({
    path: `${ONE}/sessions/end`,
    name: 'consoleEndSessions',
    calls: 'operatorEndSessions',
    request: ({ params }) => ({ params: { userId: params.id! } }),
    ...BACK_TO_USER,
  }),
  action<typeof Change, Made>({
    path: `${ONE}/link`,
    name: 'consoleMakePasswordLink',
    calls: 'operatorMakePasswordLink',
    renderCalls: ['operatorGetUser'],
    request: ({ params }) => ({ params: { userId: params.id! } }),
    next: async (made, { params }, ctx) => showLink(ctx, await readUser(ctx, params.id!), made),
    renderErrors: showPerson,
  }),
]

async function showPeople(ctx: ConsoleCtx, { query }: Query): Promise<Page> {
  const { search, until } = query
  const { users, pagination } = await ctx.callRoute<Static<typeof PersonList>>('operatorListUsers', {
    query: { limit: ROWS, search: search || undefined, until },
  })
  return operatorPage(ctx, 'people', {
    title: 'Users',
    body: html`${heading('Users', html`<a class="btn primary" href="${LIST}/invite">Invite user</a>`)}
${searchForm(LIST, 'Search users by name or email', 'Name or email', search)}
${dataTable(
  'Users',
  ['Username', 'Email', 'State', 'Two-factor', 'Plan', 'Last seen', 'Created'],
  users.map(
    (
      user,
    ) => html`<tr><td><div class="line one">${avatar(user.name ?? user.username, 'm', user.username)}<div><a class="link-soft medium" href="${operatorPath('people', user.id)}">${user.username}</a>${user.name && html`<br><span class="soft small">${user.name}</span>`}</div></div></td>
<td>${user.email}</td><td>${stateOf(user)}</td><td>${secondFactorState(user.secondFactor)}</td><td>${user.plan}</td>
<td>${lastSeen(ctx, user)}</td><td>${relativeTime(user.createdAt, ctx.now)}</td></tr>`,
  ),
  { none: search ? `No users match “${search}”.` : 'No users.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

/** `email`: an address that was invited to a team, and has no account. */
function showInvite(ctx: ConsoleCtx, email = '', error?: FormError): Promise<Page> {
  return operatorPage(ctx, 'people', {
    title: 'Invite user',
    body: html`${heading('Invite user')}
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${LIST}/invite" data-turbo="false">
${csrfFields(ctx)}
${field('email', 'Email', { value: email, required: true, error, type: 'email', hint: sendsMail(ctx) ? 'Receives a link to set a password.' : "Email isn't set up on this server: you get a link to send to them.", attributes: PLAIN_TEXT })}
${field('username', 'Username', { value: usernameFor(email), required: true, error, hint: 'Lowercase letters, digits, ".", "_" and "-". They can sign in with it or with the email.', attributes: PLAIN_TEXT })}
${field('name', 'Name', { error, hint: 'Shown to other users.', attributes: html` autocomplete="off"` })}
<p class="line"><button class="btn primary">Invite</button><a class="btn" href="${LIST}">Cancel</a></p>
</form>`,
  })
}

function showLink(
  ctx: ConsoleCtx,
  user: Pick<Static<typeof OperatorUser>, 'id' | 'username' | 'email'>,
  made: Made | Refusal,
): Promise<Page> {
  const { id, username, email } = user
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username)}
<section class="card in stack"><h2>Password link</h2>
${made instanceof Refusal ? createdWithoutLink(ctx, user, made) : passwordLink(ctx, email, made)}
<p><a href="${operatorPath('people', id)}">Go to ${username}</a></p></section>`,
  })
}

async function showPerson(ctx: ConsoleCtx, { params }: Pick<ScreenInput, 'params'>, error?: FormError): Promise<Page> {
  const person = await readUser(ctx, params.id!)
  const path = operatorPath('people', person.id)
  const { username, suspended, operator, teams } = person
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username, stateOf(person), html`<a class="btn" href="${operatorPath('audit')}?actor=${encodeURIComponent(person.id)}">Audit log of ${username}</a>`)}
${formErrorNotice(error)}
<section class="card in stack"><dl class="facts">
<dt>Email</dt><dd>${person.email}</dd>
<dt>Name</dt><dd>${person.name ?? 'none'}</dd>
<dt>ID</dt><dd>${copyable(person.id, 'id')}</dd>
<dt>Plan</dt><dd>${person.plan}</dd>
<dt>Created</dt><dd>${relativeTime(person.createdAt, ctx.now)}</dd>
<dt>Last seen</dt><dd>${lastSeen(ctx, person)}</dd>
<dt>Tokens</dt><dd>${tokensOf(person)}</dd>
</dl></section>
<h2>Teams</h2>
${dataTable(
  'Teams of the user',
  ['Team', 'Role'],
  teams.map(
    (team) =>
      html`<tr><td><a href="${operatorPath('teams', team.id)}">${team.slug}</a></td><td>${sentenceCase(team.role)}</td></tr>`,
  ),
  { none: 'No teams.' },
)}
<h2>Sessions</h2>
${sessionsOf(ctx, path, person)}
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
  error,
})}`,
  })
}

function readUser(ctx: ConsoleCtx, userId: string): Promise<Static<typeof UserDetails>> {
  return ctx.callRoute('operatorGetUser', { params: { userId } })
}

/** Uses are stored with a delay, so the session user is shown as present. */
function lastSeen(ctx: ConsoleCtx, user: Pick<Static<typeof UserDetails>, 'id' | 'lastSeenAt' | 'createdAt'>): Html {
  return user.id === ctx.user.userId ? html`now` : lastUsedLabel(user.lastSeenAt, user.createdAt, ctx.now)
}

function stateOf({ suspended, operator }: { suspended: boolean; operator: boolean }): Html {
  return html`${suspended ? state('bad', 'Suspended', 'paused') : state('good', 'Active')}${operator && html` <span class="badge">Operator</span>`}`
}

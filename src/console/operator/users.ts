/** People as the operator sees them: the list, inviting somebody, and one person with what can be done. */
import type { Static } from 'typebox'
import type { CreatedPasswordLink, OperatorUser } from '../../accounts/accounts/schema.ts'
import type { PersonList, UserDetails } from '../../accounts/users/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { ConsoleCtx, Screen, ScreenInput } from '../../platform/pages/screen.ts'
import { consoleScreen, csrfFields } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { button, confirmedButton, countOf, dangerCard, heading, paginationLinks, searchForm } from '../controls.ts'
import { copyable, dataTable } from '../fields.ts'
import type { Refused } from '../refused.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'
import { removalForm, removalScreen, suspension } from './removal.ts'

const LIST = operatorPath('people')
const ONE = `${LIST}/:id`
const Invite = Type.Object({
  email: Type.String({ maxLength: 254 }),
  username: Type.String({ maxLength: 100 }),
  name: Type.Optional(Type.String({ maxLength: 100 })),
})
const Change = Type.Object({
  suspended: Type.Optional(Type.Literal('true')),
  operator: Type.Optional(Type.Literal('true')),
})
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
    calls: [],
    requiresReauthentication: true,
    run: (ctx) => showInvite(ctx),
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
    again: (ctx, _, refused) => showInvite(ctx, refused),
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
  // A box that is not ticked is not sent: what is missing is false.
  ...(['suspended', 'operator'] as const).map((what) =>
    action<typeof Change>({
      path: `${ONE}/${what}`,
      name: `console-set-${what}`,
      form: Change,
      asks: 'operatorUpdateUser',
      shows: ['operatorGetUser'],
      wish: ({ params, form }) => ({ params: { userId: params.id! }, body: { [what]: form[what] === 'true' } }),
      to: (_, { params }) => operatorPath('people', params.id!),
      again: showPerson,
      fresh: true,
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
    shows: ['operatorGetUser'],
    wish: ({ params }) => ({ params: { userId: params.id! } }),
    to: (_, { params }) => operatorPath('people', params.id!),
    again: showPerson,
    fresh: true,
  }),
  action<typeof Change, Made>({
    path: `${ONE}/link`,
    name: 'consoleMakePasswordLink',
    asks: 'operatorMakePasswordLink',
    shows: ['operatorGetUser'],
    wish: ({ params }) => ({ params: { userId: params.id! } }),
    to: async (made, { params }, ctx) =>
      showLink(
        ctx,
        await ctx.ask<Static<typeof UserDetails>>('operatorGetUser', { params: { userId: params.id! } }),
        made,
      ),
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
    body: html`${heading('People', html`<a class="button" href="${LIST}/invite">Invite somebody</a>`)}
${searchForm(LIST, 'Search people by name or email', 'Name or email', search)}
${dataTable(
  'People',
  ['Username', 'Email', 'State', 'Plan', 'Last seen', 'Made'],
  users.map(
    (
      one,
    ) => html`<tr><td><a href="${operatorPath('people', one.id)}">${one.username}</a>${one.name && html`<br><span class="soft small">${one.name}</span>`}</td>
<td>${one.email}</td><td>${stateOf(one)}</td><td>${one.plan}</td>
<td>${lastSeen(ctx, one)}</td><td>${relativeTime(one.createdAt, ctx.now)}</td></tr>`,
  ),
  { none: search ? `Nobody has “${search}” in their name or email.` : 'Nobody is here.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

function showInvite(ctx: ConsoleCtx, refused?: Refused): Promise<Page> {
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`
  return operatorPage(ctx, 'people', {
    title: 'Invite somebody',
    body: html`${heading('Invite somebody')}
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${LIST}/invite" data-turbo="false">
${csrfFields(ctx)}
${field('email', 'Email', { required: true, refused, type: 'email', hint: mails(ctx) ? 'A link by which they set a password goes there.' : 'This service sends no mail: you get a link to hand to them.', attributes: plain })}
${field('username', 'Username', { required: true, refused, hint: 'Lower case letters, digits, ".", "_" and "-". They sign in with it, or with the email.', attributes: plain })}
${field('name', 'Name', { refused, hint: 'As other people see it.', attributes: html` autocomplete="off"` })}
<p class="actions"><button>Invite</button><a class="button quiet" href="${LIST}">Cancel</a></p>
</form>`,
  })
}

/** The link, this once: whoever has it sets the password. */
function showLink(
  ctx: ConsoleCtx,
  { id, username, email }: Pick<Static<typeof OperatorUser>, 'id' | 'username' | 'email'>,
  { url, expiresAt }: Made,
): Promise<Page> {
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username)}
<section class="card"><h2>Link to set a password</h2>
<p>${mails(ctx) ? html`It is on its way to <strong>${email}</strong> by mail.` : 'This service sends no mail, so hand it to them.'} It works once, and ends ${relativeTime(expiresAt, ctx.now)}. It is shown here this once:</p>
<pre class="secret">${url}</pre>
<p><a href="${operatorPath('people', id)}">Go to ${username}</a></p></section>`,
  })
}

async function showPerson(ctx: ConsoleCtx, { params }: Pick<ScreenInput, 'params'>, refused?: Refused): Promise<Page> {
  const person = await ctx.ask<Static<typeof UserDetails>>('operatorGetUser', { params: { userId: params.id! } })
  const path = operatorPath('people', person.id)
  const { username, suspended, operator, teams, sessions, tokens } = person
  return operatorPage(ctx, 'people', {
    title: username,
    within: [],
    body: html`${heading(username, stateOf(person))}
${formErrorNotice(refused)}
<section class="card"><dl class="facts">
<dt>Email</dt><dd>${person.email}</dd>
<dt>Name</dt><dd>${person.name ?? 'none'}</dd>
<dt>Id</dt><dd>${copyable(person.id, 'id')}</dd>
<dt>Plan</dt><dd>${person.plan}</dd>
<dt>Made</dt><dd>${relativeTime(person.createdAt, ctx.now)}</dd>
<dt>Last seen</dt><dd>${lastSeen(ctx, person)}</dd>
<dt>Sessions</dt><dd>${sessions.length}</dd>
<dt>Tokens</dt><dd>${tokens.length}</dd>
</dl></section>
<h2>Teams</h2>
${dataTable(
  'Teams of the person',
  ['Team', 'Role'],
  teams.map(
    (one) => html`<tr><td><a href="${operatorPath('teams', one.id)}">${one.slug}</a></td><td>${one.role}</td></tr>`,
  ),
  { none: 'In no team.' },
)}
<h2>Password</h2>
<section class="card"><p>A link sets a new password, lifts a lock after wrong ones, and ends every session. ${mails(ctx) ? `It goes to ${person.email} too.` : 'This service sends no mail: hand the link to them.'}</p>
${button(ctx, `${path}/link`, 'Make a link to set a password', { look: 'quiet', showsOnce: true })}</section>
<h2>What they may do</h2>
<section class="card"><p>${operator ? 'They are an operator: these pages are open to them.' : 'They cannot see the pages of the operator.'}</p>
${button(ctx, `${path}/operator`, operator ? 'Make them no operator' : 'Make them an operator', { look: 'quiet', fields: operator ? {} : { operator: 'true' } })}</section>
<h2>Second factors</h2>
${secondFactors(ctx, person)}
${suspension(ctx, path, suspended)}
${removalForm(ctx, path, {
  called: username,
  goes: 'Their own account, tokens and sessions go, and their name and email are erased.',
  forced: 'Also remove the projects of their own account, and leave a team without an OWNER',
  refused,
})}`,
  })
}

/** What somebody signs in with besides the password, and the button for somebody who lost it. */
function secondFactors(ctx: ConsoleCtx, { id, username, email, secondFactors }: Static<typeof UserDetails>): Html {
  const { oneTimeCodes, passkeys } = secondFactors
  if (!oneTimeCodes && passkeys === 0)
    return html`<p class="card">They have none: their password alone signs them in.</p>`
  const words = [oneTimeCodes && 'one-time codes', passkeys > 0 && countOf(passkeys, 'passkey')].filter(Boolean)
  return html`<p class="card">They have ${words.join(' and ')}.</p>
${dangerCard(
  'Remove their second factors',
  html`For somebody who lost them. Be sure that it is <strong>${username}</strong> who asks: their password alone signs them in then. Their sessions end, and a letter goes to <strong>${email}</strong>.`,
  confirmedButton(ctx, `${operatorPath('people', id)}/second-factors`, 'Remove their second factors'),
)}`
}

/** Uses are written down some time later, so whoever looks at the page is there now. */
function lastSeen(ctx: ConsoleCtx, one: Pick<Static<typeof UserDetails>, 'id' | 'lastSeenAt' | 'createdAt'>): Html {
  return one.id === ctx.user.userId ? html`now` : lastUsedLabel(one.lastSeenAt, one.createdAt, ctx.now)
}

function stateOf({ suspended, operator }: { suspended: boolean; operator: boolean }): Html {
  return html`<span class="state ${suspended ? 'bad' : 'good'}">${suspended ? 'Suspended' : 'Active'}</span>${operator && html` <span class="tag">operator</span>`}`
}

function mails(ctx: ConsoleCtx): boolean {
  return ctx.deps.config.mail.smtp !== undefined
}

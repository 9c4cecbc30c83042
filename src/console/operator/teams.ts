import type { Static } from 'typebox'
import type { OperatorTeam } from '../../accounts/accounts/schema.ts'
import type { OperatorTeamList, TeamDetails } from '../../accounts/users/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { cardTitle, heading, paginationLinks, searchForm, sentenceCase } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { copyable, dataTable, pick } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'
import { removalForm, removalScreen } from './removal.ts'

const LIST = operatorPath('teams')
const ONE = `${LIST}/:id`
const PLANS = ['hobby', 'pro', 'enterprise'] as const
const NewTeam = Type.Object({
  slug: Type.String({ maxLength: 100 }),
  name: Type.String({ maxLength: 100 }),
  ownerId: Type.String({ maxLength: 254 }),
})
const Plan = Type.Object({
  plan: Type.String({ maxLength: 20 }),
  softBlocked: Type.Optional(Type.Literal('true')),
  paymentMissing: Type.Optional(Type.Literal('true')),
})

export const teamScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showTeams',
    query: ListQuery,
    calls: ['operatorListTeams'],
    run: showTeams,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/new`,
    name: 'showNewTeam',
    calls: [],
    run: (ctx) => showNew(ctx),
  }),
  action<typeof NewTeam, Static<typeof OperatorTeam>>({
    path: `${LIST}/new`,
    name: 'consoleOperatorCreateTeam',
    form: NewTeam,
    calls: 'operatorCreateTeam',
    renderCalls: [],
    request: ({ form: { slug, name, ownerId } }) => ({
      body: { slug: slug.trim(), name: name.trim(), ownerId: ownerId.trim() },
    }),
    next: ({ id }) => operatorPath('teams', id),
    renderErrors: (ctx, _, error) => showNew(ctx, error),
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showTeam',
    calls: ['operatorGetTeam'],
    run: (ctx, input) => showTeam(ctx, input),
  }),
  // An unticked box is not sent and means false.
  action<typeof Plan>({
    path: `${ONE}/plan`,
    name: 'consoleSetPlan',
    form: Plan,
    calls: 'operatorUpdateAccount',
    renderCalls: ['operatorGetTeam'],
    request: ({ params, form: { plan, softBlocked, paymentMissing } }) => ({
      params: { accountId: params.id! },
      body: { plan, softBlocked: softBlocked === 'true', paymentMissing: paymentMissing === 'true' },
    }),
    changes: [],
    next: (_, { params }) => operatorPath('teams', params.id!),
    renderErrors: showTeam,
  }),
  removalScreen({
    list: LIST,
    name: 'consoleRemoveTeam',
    calls: 'operatorDeleteTeam',
    param: 'teamId',
    renderCalls: 'operatorGetTeam',
    renderErrors: showTeam,
  }),
]

async function showTeams(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof ListQuery>>): Promise<Page> {
  const { search, until } = query
  const { teams, pagination } = await ctx.callRoute<Static<typeof OperatorTeamList>>('operatorListTeams', {
    query: { limit: ROWS, search: search || undefined, until },
  })
  return operatorPage(ctx, 'teams', {
    title: 'Teams',
    body: html`${heading('Teams', html`<a class="btn primary" href="${LIST}/new">New team</a>`)}
${searchForm(LIST, 'Search teams by name', 'Name', search)}
${dataTable(
  'Teams',
  ['Team', 'Name', 'Plan', 'Created'],
  teams.map(
    (team) =>
      html`<tr><td><a href="${operatorPath('teams', team.id)}">${team.slug}</a></td><td>${team.name}</td><td>${team.plan}</td><td>${relativeTime(team.createdAt, ctx.now)}</td></tr>`,
  ),
  { none: search ? `No teams match “${search}”.` : 'No teams yet.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

function showNew(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  return operatorPage(ctx, 'teams', {
    title: 'New team',
    body: html`${heading('New team')}
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${LIST}/new">
${csrfFields(ctx)}
${field('slug', 'Slug', { required: true, error, hint: 'Lowercase letters, digits, ".", "_" and "-". Used in URLs.', attributes: PLAIN_TEXT })}
${field('name', 'Name', { required: true, error, attributes: html` autocomplete="off"` })}
${field('ownerId', 'Owner', { required: true, error, hint: 'Username or email of the first owner.', attributes: PLAIN_TEXT })}
<p class="line"><button class="btn primary">Create team</button><a class="btn" href="${LIST}">Cancel</a></p>
</form>`,
  })
}

async function showTeam(ctx: ConsoleCtx, { params }: Pick<ScreenInput, 'params'>, error?: FormError): Promise<Page> {
  const team = await ctx.callRoute<Static<typeof TeamDetails>>('operatorGetTeam', { params: { teamId: params.id! } })
  return operatorPage(ctx, 'teams', {
    title: team.slug,
    within: [],
    body: html`${heading(team.slug)}
${formErrorNotice(error)}
<section class="card in stack"><dl class="facts">
<dt>Name</dt><dd>${team.name}</dd>
<dt>ID</dt><dd>${copyable(team.id, 'id')}</dd>
<dt>Plan</dt><dd>${team.plan}</dd>
<dt>Projects</dt><dd>${team.projectCount}</dd>
<dt>Created</dt><dd>${relativeTime(team.createdAt, ctx.now)}</dd>
</dl></section>
<h2>Members</h2>
${dataTable(
  'Members',
  ['Username', 'Email', 'Role'],
  team.members.map(
    (member) =>
      html`<tr><td><a href="${operatorPath('people', member.userId)}">${member.username}</a></td><td>${member.email}</td><td>${sentenceCase(member.role)}</td></tr>`,
  ),
  { none: 'No members.' },
)}
<form class="card in stack form" method="post" action="${operatorPath('teams', team.id)}/plan">${cardTitle('Plan', 'What the team can use, and whether it is blocked.')}
${editFields(
  ctx,
  error,
  () => html`<div class="field"><label for="plan">Plan</label>
${pick(html`<select id="plan" name="plan">${PLANS.map((plan) => html`<option${plan === team.plan && html` selected`}>${plan}</option>`)}</select>`)}</div>
<label class="choice"><input type="checkbox" name="softBlocked" value="true"${team.softBlocked && html` checked`}> Blocked: nothing can be created</label>
<label class="choice"><input type="checkbox" name="paymentMissing" value="true"${team.paymentMissing && html` checked`}> No payment method</label>`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>
${removalForm(ctx, operatorPath('teams', team.id), {
  called: team.slug,
  goes: 'Its members lose access. Its apps and installations are removed.',
  forced: `Also remove its projects (${team.projectCount})`,
  error,
})}`,
  })
}

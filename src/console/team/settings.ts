import type { Static } from 'typebox'
import type { Team } from '../../accounts/accounts/schema.ts'
import type { CreatedOwnTeam } from '../../accounts/users/own-team.ts'
import { secondFactorColumn } from '../../platform/access/second-factor.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { cardTitle, sentenceCase } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { copyable, select, textAreaField } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, consolePage, findAccountOfPath } from '../frame.ts'
import { storageCard } from './storage.ts'

const SETTINGS = '/console/t/:slug/settings'
const NEW = '/console/teams/new'
/** Members without a second factor that are named. */
const MAX_NAMED = 20
const Settings = Type.Object({
  name: Type.String(),
  slug: Type.String(),
  description: Type.Optional(Type.String()),
  sensitive: Type.String(),
  factor: Type.Optional(Type.String()),
})
const NewTeam = Type.Object({ name: Type.Optional(Type.String()), slug: Type.String() })
const SLUG_HINT = 'Lowercase letters, digits, ".", "_" and "-", up to 48 characters. It is used in URLs and API calls.'
const SLUG_INPUT = html`${PLAIN_TEXT} maxlength="48"`

export const teamSettingsScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: SETTINGS, name: 'consoleTeamSettings', calls: ['getTeam'], run: showSettings }),
  action<typeof Settings, Static<typeof Team>>({
    path: SETTINGS,
    name: 'consoleChangeTeam',
    form: Settings,
    calls: 'patchTeam',
    renderCalls: ['getTeam'],
    fieldNames: { sensitiveEnvironmentVariablePolicy: 'sensitive', requireSecondFactor: 'factor' },
    request: ({ params, form: { name, slug, description, sensitive, factor } }) => ({
      params: { idOrSlug: params.slug! },
      body: {
        name: name.trim(),
        slug: slug.trim(),
        description: description?.trim() || null,
        sensitiveEnvironmentVariablePolicy: sensitive,
        ...(factor !== undefined && { requireSecondFactor: factor === 'on' }),
      },
    }),
    changes: [],
    next: ({ slug }) => `${accountPath({ slug })}/settings`,
    renderErrors: showSettings,
  }),
  consoleScreen({ method: 'GET', path: NEW, name: 'consoleNewTeam', calls: [], run: showNewTeam }),
  action<typeof NewTeam, Static<typeof CreatedOwnTeam>>({
    path: NEW,
    name: 'consoleMakeTeam',
    form: NewTeam,
    calls: 'createTeam',
    renderCalls: [],
    request: ({ form: { name, slug } }) => ({
      body: { slug: slug.trim(), ...(name?.trim() && { name: name.trim() }) },
    }),
    next: ({ slug }) => accountPath({ slug }, 'members'),
    renderErrors: showNewTeam,
  }),
]

async function showSettings(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const team = await ctx.callRoute<Static<typeof Team>>('getTeam', { account, params: { idOrSlug: params.slug! } })
  const isOwner = canInAccount(account, 'team:write')
  return accountPage(ctx, account, 'settings', {
    title: 'Settings',
    body: html`<div class="head"><h1>Team settings</h1></div>
${formErrorNotice(error)}
${!isOwner && note('info', 'Only an owner of the team can change these settings.')}
${isOwner ? settingsForm(ctx, url, team, await lockedOut(ctx, team), error) : facts(team)}
${await storageCard(ctx, team.id)}
<section class="card in stack">${cardTitle('Team')}<dl class="facts"><dt>ID</dt><dd>${copyable(team.id, 'id')}</dd><dt>Plan</dt><dd>${team.billing.plan}</dd><dt>Your role</dt><dd>${sentenceCase(team.membership.role)}</dd></dl></section>`,
  })
}

/** Members without a second factor, by name: those whom the requirement locks out. */
async function lockedOut({ db }: ConsoleCtx, team: Static<typeof Team>): Promise<string | undefined> {
  if (team.requireSecondFactor) return undefined
  const members = db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.slug', secondFactorColumn('account.id')])
    .where('member.team_id', '=', team.id)
    .as('members')
  const without = await db
    .selectFrom(members)
    .select('members.slug')
    .where('members.has_factor', '=', 0)
    .orderBy('members.slug')
    .limit(MAX_NAMED + 1)
    .execute()
  if (without.length === 0) return 'All members have a second factor.'
  const names = without.slice(0, MAX_NAMED).map(({ slug }) => slug)
  return `If it is required, these members lose access: ${names.join(', ')}${without.length > MAX_NAMED ? ' and others' : ''}.`
}

function settingsForm(
  ctx: ConsoleCtx,
  url: string,
  team: Static<typeof Team>,
  hint: string | undefined,
  error: FormError | undefined,
): Html {
  return html`<form class="card in stack form" method="post" action="${url}">${cardTitle('General', 'What the team is called, and what its members must do.')}
${editFields(
  ctx,
  error,
  (
    error,
  ) => html`${field('name', 'Name', { required: true, error, value: team.name, attributes: html` maxlength="100" autocomplete="off"` })}
${field('slug', 'Slug', { required: true, error, value: team.slug, hint: `${SLUG_HINT} Anything that still uses the old name stops working. The old name stays reserved for 90 days.`, attributes: SLUG_INPUT })}
${textAreaField('description', 'Description', { error, value: team.description ?? '' })}
${select(
  'sensitive',
  'Production and preview variables',
  [
    ['default', 'Author decides'],
    ['on', 'Always write-only'],
  ],
  { error, value: team.sensitiveEnvironmentVariablePolicy === 'on' ? 'on' : 'default' },
)}
${select(
  'factor',
  'Two-factor authentication',
  [
    ['off', 'Optional'],
    ['on', 'Required. Members without one lose access, in the browser and by token'],
  ],
  { error, value: team.requireSecondFactor ? 'on' : 'off', hint },
)}`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>`
}

/** Read-only view. */
function facts(team: Static<typeof Team>): Html {
  const values = team.sensitiveEnvironmentVariablePolicy === 'on' ? 'Always write-only' : 'Author decides'
  return html`<section class="card in stack">${cardTitle('General')}<dl class="facts"><dt>Name</dt><dd>${team.name}</dd><dt>Slug</dt><dd>${team.slug}</dd><dt>Description</dt><dd>${team.description || 'None'}</dd>
<dt>Production and preview variables</dt><dd>${values}</dd><dt>Two-factor authentication</dt><dd>${team.requireSecondFactor ? 'Required' : 'Optional'}</dd></dl></section>`
}

async function showNewTeam(ctx: ConsoleCtx, { url }: ScreenInput, error?: FormError) {
  return consolePage(ctx, undefined, {
    title: 'New team',
    body: html`<div class="head"><h1>New team</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
<p>A team has its own projects, and members with roles. You become its owner.</p>
${field('name', 'Name', { error, attributes: html` maxlength="100" autocomplete="off"` })}
${field('slug', 'Slug', { required: true, error, hint: SLUG_HINT, attributes: SLUG_INPUT })}
<p class="line"><button class="btn primary">Create team</button><a class="btn" href="/console">Cancel</a></p>
</form>`,
  })
}

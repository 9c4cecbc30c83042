import type { Row } from '../../platform/db/schema.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { bidiIsolated, type Html, html } from '../../platform/pages/html.ts'
import { nameOf, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import { csrfFields, type UserPageCtx, type View } from '../../platform/pages/screen.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { type ConsentQuery, consentPath } from '../oauth/authorization-request.ts'
import { PROJECTS_PER_PAGE, type ProjectChoices, type ProjectSelection } from './projects.ts'
import { listScopes } from './scope-descriptions.ts'

type Integration = Row<'integration'>

/** Shows the first step, for a user who can install on several accounts. */
export async function accountStep(
  ctx: UserPageCtx,
  integration: Integration,
  query: ConsentQuery,
  accounts: readonly OwnAccount[],
): Promise<View> {
  const possible = accounts.filter((account) => account.role === 'OWNER')
  const others = accounts.filter((account) => account.role !== 'OWNER')
  return {
    ...framed(integration),
    body: html`${await introduction(ctx, integration)}
<h2>Where should it work?</h2>
<p>Choose one account. The next page shows the requested access, and you decide.</p>
<ul class="rows">${possible.map(
      (account) =>
        html`<li><a class="btn" href="${consentPath(integration, query, account.id)}">${nameOf(account)}</a></li>`,
    )}</ul>
${
  others.length > 0 &&
  html`<p class="soft small">You cannot choose these accounts, because only an owner of a team can install integrations:
${others.map(({ name, slug, role }) => `${bidiIsolated(name ?? slug)} (your role: ${role.toLowerCase()})`).join(', ')}.</p>`
}
${cancelForm(ctx, consentPath(integration, query))}`,
  }
}

/** Shows the second step: scopes, projects and the decision. */
export async function projectStep(
  ctx: UserPageCtx,
  integration: Integration,
  query: ConsentQuery,
  account: OwnAccount,
  projects: ProjectChoices,
  chosen: ProjectSelection,
): Promise<View> {
  const scopes = scopesOf(integration)
  const name = toSingleLine(integration.name)
  return {
    ...framed(integration),
    status: chosen.fault === undefined ? 200 : 422,
    body: html`${chosen.fault && note('bad', html`<a href="#projects">${chosen.fault}</a>`, { role: 'alert' })}
${await introduction(ctx, integration)}
<p>It requests access to <strong>${nameOf(account)}</strong>. <a href="${consentPath(integration, query)}">Choose another account</a></p>
${
  chosen.renews &&
  note('info', 'It is installed here already. If you approve, your choice below replaces the access that it has.')
}
<h2>What it will be able to do</h2>
${listScopes(scopes)}
<form method="post" action="${consentPath(integration, query, account.id)}">
${enterKeyButton}${csrfFields(ctx)}
${scopes.map((scope) => html`<input type="hidden" name="scope" value="${scope}">`)}
<input type="hidden" name="redirect" value="${integration.redirect_url}">
${projectChoice(projects, chosen)}
<h2>What happens next</h2>
<p>If you approve, you go on to <strong>${hostOf(integration)}</strong>. ${name} keeps this access until you uninstall it. You can do
that at any time under <a href="/integrations/installed">installed integrations</a>. If you cancel, nothing is installed.</p>
<p class="line"><button class="btn primary" name="decision" value="approve">Approve</button>
<button class="btn" name="decision" value="cancel">Cancel</button></p>
</form>`,
  }
}

/**
 * The Enter key presses the first button of a form, also from a checkbox. This one shows the page again with the ticked boxes. In Chromium a disabled
 * button would let Enter press the next one, which approves.
 */
const enterKeyButton = html`<button name="decision" value="find" hidden></button>`

function projectChoice({ ticked, others, more, none }: ProjectChoices, { selection, find }: ProjectSelection): Html {
  const radio = (value: 'all' | 'selected', text: string, on: boolean) =>
    html`<label class="choice"><input type="radio" name="selection" value="${value}"${on && html` checked`}> <span>${text}</span></label>`
  const all = 'All projects, present and future'
  if (none) {
    return html`<fieldset id="projects" tabindex="-1"><legend>Which projects it may use</legend>
<p>This account has no projects yet.</p>${radio('all', all, selection === 'all')}</fieldset>`
  }
  const box = (on: boolean) => (project: { id: string; name: string }) =>
    html`<label class="choice"><input type="checkbox" name="project" value="${project.id}"${on && html` checked`}> <span>${project.name}</span></label>`
  return html`<fieldset id="projects" tabindex="-1"><legend>Which projects it may use</legend>
${radio('all', all, selection === 'all')}
${radio('selected', 'Only the projects selected here, and projects that it creates', selection !== 'all')}
${
  (more || find !== '') &&
  html`<div class="field"><label for="find">Find projects by name</label>
<p class="search"><input type="search" id="find" name="find" value="${find}" maxlength="100" autocomplete="off">
<button class="btn" name="decision" value="find">Find</button></p></div>
<p class="soft small" role="status">${foundText(others.length, more, find)}</p>`
}
<div class="choices">${ticked.map(box(true))}${others.map(box(false))}</div>
</fieldset>`
}

function foundText(count: number, more: boolean, find: string): string {
  if (more)
    return `The first ${PROJECTS_PER_PAGE} are shown. Find others by a part of their name. Ticked projects stay ticked.`
  return count === 0
    ? `No other project has “${find}” in its name.`
    : `Projects with “${find}” in their name: ${count}. Ticked projects stay ticked.`
}

async function introduction(ctx: UserPageCtx, integration: Integration): Promise<Html> {
  const runBy = await ctx.db
    .selectFrom('account')
    .select(['name', 'slug'])
    .where('id', '=', integration.team_id)
    .executeTakeFirstOrThrow()
  const logo = logoOf(integration)
  return html`<div class="app">${logo && html`<img src="${logo.url}" alt="" width="48" height="48">`}
<div><h1>Install ${toSingleLine(integration.name)}?</h1>
<p class="soft">An integration run by ${toSingleLine(runBy.name ?? runBy.slug)} (${runBy.slug})</p></div></div>`
}

function cancelForm(ctx: UserPageCtx, action: string): Html {
  return html`<form method="post" action="${action}">${csrfFields(ctx)}
<p class="line"><button class="btn" name="decision" value="cancel">Cancel</button></p></form>`
}

function framed(integration: Integration) {
  return {
    title: `Install ${toSingleLine(integration.name)}`,
    images: logoOf(integration)?.origin,
    formsTo: onward(integration),
  }
}

/** Returns the logo if the Content-Security-Policy can name its origin. Browsers load images from no other host. */
export function logoOf({ logo_url }: Pick<Integration, 'logo_url'>): { url: string; origin: string } | undefined {
  const url = URL.parse(logo_url ?? '')
  if (url === null || !/^https:\/\/[a-z0-9.-]+(:\d+)?$/.test(url.origin)) return undefined
  return { url: url.href, origin: url.origin }
}

/**
 * Browsers apply `form-action` to every redirect after a form. The integration may redirect to another host of its own, so the policy names the
 * scheme only.
 */
function onward({ redirect_url }: Integration): string {
  return redirect_url.startsWith('https:') ? 'https:' : 'http: https:'
}

function hostOf({ redirect_url }: Integration): string {
  return URL.parse(redirect_url)?.host ?? redirect_url
}

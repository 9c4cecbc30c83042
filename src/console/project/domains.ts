import type { Static } from 'typebox'
import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { ProjectDomain } from '../../projects/domains/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { apiCommand, shellCommand, TOKEN_HINT } from '../controls.ts'
import { type Choice, dataTable, fieldRow, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { siteAddress } from './deployment/details.ts'
import { type CustomEnvironments, readCustomEnvironments } from './environments.ts'

type Page = { domains: ProjectDomain[]; pagination: { next: number | null } }

export const DOMAINS_PATH = '/console/t/:slug/projects/:name/domains'
const PAGE = 50
const ListQuery = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  verified: Type.Optional(Type.String({ maxLength: 5 })),
})

/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
export const RoutingForm = Type.Object({
  gitBranch: Text,
  redirect: Text,
  redirectStatusCode: Text,
  customEnvironmentId: Text,
})
const NewDomain = Type.Object({ name: Text, ...RoutingForm.properties })

const CODES: readonly Choice[] = [
  ['', '307 Temporary'],
  ['308', '308 Permanent'],
  ['302', '302 Temporary (may change to GET)'],
  ['301', '301 Permanent (may change to GET)'],
]

export const domainListScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: DOMAINS_PATH,
    name: 'showDomains',
    query: ListQuery,
    calls: ['getProjectDomains', 'getProjectCustomEnvironments', 'getProject'],
    run: showDomains,
  }),
  consoleScreen({
    method: 'GET',
    path: `${DOMAINS_PATH}/add`,
    name: 'showNewDomain',
    calls: ['getProjectCustomEnvironments'],
    run: (ctx, input) => showNew(ctx, input),
  }),
  action<typeof NewDomain, ProjectDomain>({
    path: `${DOMAINS_PATH}/add`,
    name: 'consoleAddDomain',
    form: NewDomain,
    calls: 'addProjectDomain',
    renderCalls: ['getProjectCustomEnvironments'],
    request: ({ params, form: { name = '', ...routing } }) => ({
      params: { idOrName: params.name! },
      body: { name: name.trim(), ...asRouting(routing) },
    }),
    next: ({ name }, { params }) => domainPath({ slug: params.slug! }, params.name!, name),
    renderErrors: showNew,
  }),
]

/** Returns the path of a domain. */
export function domainPath(account: Pick<OwnAccount, 'slug'>, project: string, domain: string, section = ''): string {
  const path = projectPath(account, project, `domains/${encodeURIComponent(domain)}`)
  return section === '' ? path : `${path}/${section}`
}

/** Returns the body of the routes. Empty fields become null. */
export function asRouting(form: Static<typeof RoutingForm>) {
  return {
    gitBranch: form.gitBranch?.trim() || null,
    redirect: form.redirect?.trim() || null,
    redirectStatusCode: form.redirectStatusCode ? Number(form.redirectStatusCode) : null,
    customEnvironmentId: form.customEnvironmentId || null,
  }
}

/** Renders the routing fields: branch, custom environment and redirect. */
export function routingInputs(
  domain: ProjectDomain | undefined,
  environments: CustomEnvironments,
  error: FormError | undefined,
): Html {
  const choices = environments.map(({ id, slug }): Choice => [id, slug])
  return html`${field('gitBranch', 'Branch', { value: domain?.gitBranch ?? undefined, error, hint: 'Leave empty to serve production.', attributes: PLAIN_TEXT })}
${
  choices.length > 0 &&
  select('customEnvironmentId', 'Custom environment', [['', 'None'], ...choices], {
    value: domain?.customEnvironmentId ?? '',
    error,
  })
}
${fieldRow(
  field('redirect', 'Redirect to', {
    value: domain?.redirect ?? undefined,
    error,
    hint: 'Another domain of this project. Leave empty for no redirect.',
    attributes: PLAIN_TEXT,
  }),
  select('redirectStatusCode', 'Redirect with', CODES, { value: codeOf(domain), error }),
)}`
}

function codeOf(domain: ProjectDomain | undefined): string {
  const code = domain?.redirectStatusCode
  return code === null || code === undefined || code === 307 ? '' : String(code)
}

/** Renders what a domain serves. */
export function serves(domain: ProjectDomain, environments: CustomEnvironments): Html {
  const { gitBranch, redirect, redirectStatusCode, customEnvironmentId } = domain
  if (redirect !== null) return html`redirects to ${redirect} <span class="soft">${redirectStatusCode ?? 307}</span>`
  if (gitBranch !== null) return html`<span class="badge">branch ${gitBranch}</span>`
  if (customEnvironmentId === null) return html`<span class="badge accent">Production</span>`
  const environment = environments.find(({ id }) => id === customEnvironmentId)
  return html`<span class="badge">${environment?.slug ?? customEnvironmentId}</span>`
}

/** Returns whether the role can add, change and remove domains. */
export function canChangeDomains(account: OwnAccount): boolean {
  return canInAccount(account, 'project:write', 'domain:write')
}

/** Renders whether a domain is verified. */
export function verificationLabel({ verified }: Pick<ProjectDomain, 'verified'>): Html {
  return verified ? state('good', 'Verified') : state('warn', 'Not verified')
}

async function showDomains(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof ListQuery>>) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const { until, verified } = query
  const { domains, pagination } = await ctx.callRoute<Page>('getProjectDomains', {
    account,
    params: { idOrName: project },
    query: { limit: String(PAGE), until, verified: verified || undefined },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const path = projectPath(account, project, 'domains')
  const more = new URLSearchParams({ ...(verified && { verified }), until: String(pagination.next) })
  return projectPage(ctx, account, project, 'domains', {
    title: 'Domains',
    body: html`<div class="head"><h1>Domains</h1><p class="line">${verified === 'false' ? html`<a class="btn quiet" href="${path}">All domains</a>` : html`<a class="btn quiet" href="${path}?verified=false">Unverified only</a>`}${canChangeDomains(account) && html`<a class="btn primary" href="${path}/add">Add domain</a>`}</p></div>
${domains.length > 0 ? table(account, project, domains, environments, ctx.now) : await nothing(ctx, account, project, verified !== undefined || until !== undefined)}
<p class="page-links">${until && html`<a href="${path}">Newest</a>`}${pagination.next !== null && html`<a href="${path}?${more.toString()}">Older</a>`}</p>`,
  })
}

function table(
  account: OwnAccount,
  project: string,
  domains: readonly ProjectDomain[],
  environments: CustomEnvironments,
  now: number,
): Html {
  return dataTable(
    'Domains',
    ['Domain', 'State', 'Serves', 'Added'],
    domains.map(
      (domain) =>
        html`<tr><td><a href="${domainPath(account, project, domain.name)}">${domain.name}</a></td><td>${verificationLabel(domain)}${!domain.verified && html`<br><a class="small" href="${domainPath(account, project, domain.name)}#steps">Next: add the DNS record</a>`}</td>
<td>${serves(domain, environments)}</td><td>${relativeTime(domain.createdAt, now)}</td></tr>`,
    ),
  )
}

/** Production is served at its generated address also without a domain of its own. */
async function nothing(ctx: ConsoleCtx, account: OwnAccount, project: string, isNarrowed: boolean): Promise<Html> {
  if (isNarrowed) return html`<p class="card empty">No domains match this filter.</p>`
  const { targets } = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: project } })
  const [platformHost] = targets.production?.automaticAliases ?? []
  return html`<div class="card empty"><h2>No custom domains yet</h2>
<p>${platformHost === undefined ? 'Connect a domain.' : html`Production is at <a class="any" href="${siteAddress(ctx, platformHost)}" rel="noreferrer">${platformHost}</a>. Connect a domain of your own too.`} You verify ownership with a DNS record.</p>
<p class="soft small">From a terminal, with <code>vercel</code> after <code>npx berth link-cli</code>:</p>
${shellCommand(`vercel domains add example.com ${project}`)}
${TOKEN_HINT}
${apiCommand(ctx, `/v10/projects/${project}/domains?slug=${account.slug}`, { name: 'www.example.com' })}</div>`
}

async function showNew(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const environments = await readCustomEnvironments(ctx, account, project)
  return projectPage(ctx, account, project, 'domains', {
    title: 'Add domain',
    body: html`<div class="head"><h1>Add domain</h1></div>
${formErrorNotice(error)}${error && holder(account, error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
${field('name', 'Domain', { required: true, error, hint: 'For example www.example.com, or *.example.com for all subdomains.', attributes: PLAIN_TEXT })}
<details${error && html` open`}><summary>Branch, environment or redirect</summary>
${routingInputs(undefined, environments, error)}
</details>
<p class="line"><button class="btn primary">Add domain</button><a class="btn" href="${projectPath(account, project, 'domains')}">Cancel</a></p>
</form>`,
  })
}

/** Links the project that has the domain, if the account can see it. */
function holder(account: OwnAccount, { extra: { domain, projectId } }: FormError): Html | undefined {
  if (domain === undefined || projectId === undefined) return undefined
  return html`<p><a href="${domainPath(account, projectId, domain)}">View ${domain} on its project</a></p>`
}

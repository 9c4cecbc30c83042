import { icon } from '../../platform/pages/face/icons.ts'
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
import { action, formErrorNotice } from '../action.ts'
import { withInlineCode } from '../advice-commands.ts'
import { cardTitle, dangerCard } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { checkboxField, copyable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { exactTime, relativeTime } from '../time.ts'
import {
  asRouting,
  canChangeDomains,
  DOMAINS_PATH,
  domainPath,
  RoutingForm,
  routingInputs,
  serves,
  verificationLabel,
} from './domains.ts'
import { type CustomEnvironments, readCustomEnvironments } from './environments.ts'

const ONE = `${DOMAINS_PATH}/:domain`
const SHOWN = ['getProjectDomain', 'getProjectCustomEnvironments']
const Removal = Type.Object({ removeRedirects: Type.Optional(Type.String()) })

export const domainScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showDomain',
    calls: SHOWN,
    run: (ctx, input) => showDomain(ctx, input),
  }),
  action({
    path: `${ONE}/verify`,
    name: 'consoleVerifyDomain',
    calls: 'verifyProjectDomain',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { idOrName: params.name!, domain: params.domain! } }),
    next: (_, { params }) => domainPath({ slug: params.slug! }, params.name!, params.domain!),
    renderErrors: showDomain,
  }),
  action({
    path: ONE,
    name: 'consoleUpdateDomain',
    form: RoutingForm,
    calls: 'updateProjectDomain',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({
      params: { idOrName: params.name!, domain: params.domain! },
      body: asRouting(form),
    }),
    changes: [['redirect', 'redirectStatusCode']],
    next: (_, { params }) => domainPath({ slug: params.slug! }, params.name!, params.domain!),
    renderErrors: showDomain,
  }),
  action({
    path: `${ONE}/remove`,
    name: 'consoleRemoveDomain',
    form: Removal,
    calls: 'removeProjectDomain',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({
      params: { idOrName: params.name!, domain: params.domain! },
      body: { removeRedirects: form.removeRedirects !== undefined },
    }),
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'domains'),
    renderErrors: showDomain,
  }),
]

async function showDomain(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const domain = await ctx.callRoute<ProjectDomain>('getProjectDomain', {
    account,
    params: { idOrName: project, domain: params.domain! },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const path = domainPath(account, project, domain.name)
  const verification = await verificationOf(ctx, account, domain)
  return projectPage(ctx, account, project, 'domains', {
    title: domain.name,
    within: [],
    body: html`<div class="head"><h1>${domain.name}</h1>${verificationLabel(domain)}<p class="line"><a class="btn quiet" href="${path}/dns">${icon('globe')}Check DNS</a>${domain.verified && domain.redirect === null && !domain.name.startsWith('*') && html`<a class="btn" href="https://${domain.name}" rel="noreferrer">Visit${icon('arrow-up-right')}</a>`}</p></div>
${formErrorNotice(error)}
${steps(ctx, domain, path, canChangeDomains(account))}
<section class="card in stack"><h2>Details</h2>
<dl class="facts"><dt>Serves</dt><dd>${serves(domain, environments)}</dd>
${verification && html`<dt>Verified</dt><dd>${verification}</dd>`}
<dt>Added</dt><dd>${relativeTime(domain.createdAt, ctx.now)}</dd></dl></section>
${canChangeDomains(account) && forms(ctx, domain, path, environments, error)}`,
  })
}

/** Says when and how a domain was verified. Its record is not looked up again, so the state says nothing of DNS now. */
async function verificationOf(
  { db, now }: ConsoleCtx,
  account: OwnAccount,
  { name, apexName }: ProjectDomain,
): Promise<Html | undefined> {
  const row = await db
    .selectFrom('project_domain')
    .select(['verified_at', 'proven_at'])
    .where('account_id', '=', account.id)
    .where('name', '=', name)
    .executeTakeFirst()
  if (!row?.verified_at) return undefined
  if (row.proven_at === null) return html`${relativeTime(row.verified_at, now)}, without a DNS record`
  return html`${relativeTime(row.verified_at, now)}<br><span class="soft small">A record of ${apexName} was last looked up ${relativeTime(row.proven_at, now)}, and found. It is not looked up again: the domain stays verified without it. “Check DNS” says where the domain points now.</span>`
}

function forms(
  ctx: ConsoleCtx,
  domain: ProjectDomain,
  path: string,
  environments: CustomEnvironments,
  error: FormError | undefined,
): Html {
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('Routing', 'What this domain serves.')}
${editFields(ctx, error, (error) => routingInputs(domain, environments, error))}
<p class="line"><button class="btn primary">Save</button></p>
</form>
${dangerCard(
  'Remove domain',
  html`<strong>${domain.name}</strong> stops serving this project.${domain.verified && ' If you add it again within 30 days, you need not verify it again.'}`,
  html`<details class="twice" id="remove"><summary class="btn">Remove domain…</summary>
<form method="post" action="${path}/remove">${csrfFields(ctx)}
${checkboxField('removeRedirects', 'Also remove the domains that redirect to it', false)}
<p class="line"><button class="btn danger">Remove domain</button></p>
</form></details>`,
)}`
}

/** Steps until the domain is verified, with the DNS records. */
function steps(ctx: ConsoleCtx, domain: ProjectDomain, path: string, canVerify: boolean): Html | undefined {
  const { verification, name, apexName } = domain
  if (verification === undefined) return undefined
  const { edgeCname, edgeIpv4 } = ctx.deps.config.domains
  const leading = recordsOf(edgeCname, edgeIpv4)
  return html`<section class="card in stack" id="steps"><h2>Next steps</h2>
<p>${leading.length > 0 ? 'Add both records' : 'Add this record'} at the DNS provider of <strong>${apexName}</strong>.</p>
<ol class="ordered"><li class="stack tight" data-n="1"><h3>Verify ownership</h3>
${verification.map(({ type, domain: at, value }) => html`${recordFacts({ type, values: [value] }, at)}${shortNameHint(at, apexName)}`)}</li>
<li class="stack tight" data-n="2"><h3>Point the domain here${leading.length > 0 && `: add ${leading.length > 1 ? 'one of these records' : 'this record'}`}</h3>
${leading.length > 0 ? html`${leading.map((record) => recordFacts(record, name))}${shortNameHint(name, apexName)}` : html`<p>${edgeNotConfigured(ctx)}</p>`}</li>
<li class="stack tight" data-n="3"><h3>Verify</h3>
<p>${checks(domain, ctx.now, canVerify)} A new record can take some minutes to appear. <a href="${path}/answers">Name server answers</a></p>
${canVerify && html`<form method="post" action="${path}/verify">${csrfFields(ctx)}<button class="btn primary">Verify now</button></form>`}</li></ol></section>`
}

/** Says until when Berth looks for the record automatically. */
export function checks({ checkedUntil = 0 }: ProjectDomain, now: number, canVerify: boolean): Html {
  if (checkedUntil > now) return html`Berth checks automatically until ${exactTime(checkedUntil)}, less and less often.`
  return html`Berth no longer checks automatically.${canVerify && ' “Verify now” checks, and starts the checks again for 72 hours.'}`
}

/** `when`: text after the type. One of several values is enough. */
type DnsRecord = { type: string; when?: string; values: readonly string[] }

/** Says what to do where no record is shown. Operators read how to configure the edge. */
export function edgeNotConfigured({ user }: ConsoleCtx): Html {
  if (!user.isOperator) return html`Ask your operator where to point this domain.`
  return withInlineCode(
    "Berth doesn't know its edge address yet. Set BERTH_EDGE_CNAME, BERTH_EDGE_IPV4 or both, and restart.",
  )
}

/** Returns the records that point a name to the edge. One is enough. */
export function recordsOf(cname: string | undefined, addresses: readonly string[]): DnsRecord[] {
  const both = cname !== undefined && addresses.length > 0
  return [
    ...(cname === undefined ? [] : [{ type: 'CNAME', values: [cname], ...(both && { when: ' (recommended)' }) }]),
    ...(addresses.length === 0
      ? []
      : [{ type: 'A', values: addresses, ...(both && { when: ', only if your DNS provider allows no CNAME here' }) }]),
  ]
}

/** Renders a DNS record with copy buttons. */
export function recordFacts({ type, when, values }: DnsRecord, name: string): Html {
  return html`<dl class="facts"><dt>Type</dt><dd>${type}${when}</dd><dt>Name</dt><dd>${copyable(name, 'name')}</dd>
<dt>Value</dt>${values.map((value, at) => html`<dd>${at > 0 && 'or '}${copyable(value, 'value')}</dd>`)}</dl>`
}

/** Many DNS providers append the domain: a full name would become `_berth.example.com.example.com`. */
function shortNameHint(name: string, apex: string): Html {
  const short = name === apex ? '@' : name.slice(0, -apex.length - 1)
  return html`<p class="soft small">If your provider appends <code>${apex}</code>, enter just <code>${short}</code>.</p>`
}

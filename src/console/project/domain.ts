/** One domain of a project: the records to be made for it, what it serves, and removing it. */

import { type Html, html } from '../../platform/pages/html.ts'
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
import { dangerCard } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { checkboxField, copyable } from '../fields.ts'
import { consolePage, findAccountOfPath, projectPath } from '../frame.ts'
import type { Refused } from '../refused.ts'
import { relativeTime } from '../time.ts'
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
    asks: 'verifyProjectDomain',
    shows: SHOWN,
    wish: ({ params }) => ({ params: { idOrName: params.name!, domain: params.domain! } }),
    to: (_, { params }) => domainPath({ slug: params.slug! }, params.name!, params.domain!),
    again: showDomain,
  }),
  action({
    path: ONE,
    name: 'consoleUpdateDomain',
    form: RoutingForm,
    asks: 'updateProjectDomain',
    shows: SHOWN,
    wish: ({ params, form }) => ({
      params: { idOrName: params.name!, domain: params.domain! },
      body: asRouting(form),
    }),
    changes: [['redirect', 'redirectStatusCode']],
    to: (_, { params }) => domainPath({ slug: params.slug! }, params.name!, params.domain!),
    again: showDomain,
  }),
  action({
    path: `${ONE}/remove`,
    name: 'consoleRemoveDomain',
    form: Removal,
    asks: 'removeProjectDomain',
    shows: SHOWN,
    wish: ({ params, form }) => ({
      params: { idOrName: params.name!, domain: params.domain! },
      body: { removeRedirects: form.removeRedirects !== undefined },
    }),
    to: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'domains'),
    again: showDomain,
  }),
]

async function showDomain(ctx: ConsoleCtx, { params }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const domain = await ctx.ask<ProjectDomain>('getProjectDomain', {
    account,
    params: { idOrName: project, domain: params.domain! },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const path = domainPath(account, project, domain.name)
  return consolePage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: domain.name,
      within: [],
      body: html`<div class="top"><h1>${domain.name}</h1>${verificationLabel(domain)}<p class="ways"><a href="${path}/dns">See where DNS leads it</a>${domain.verified && domain.redirect === null && !domain.name.startsWith('*') && html` <a href="https://${domain.name}" rel="noreferrer">Visit</a>`}</p></div>
${formErrorNotice(refused)}
${steps(ctx, domain, path, canChangeDomains(account))}
<section class="card"><h2>Details</h2>
<dl class="facts"><dt>Serves</dt><dd>${serves(domain, environments)}</dd>
<dt>Added</dt><dd>${relativeTime(domain.createdAt, ctx.now)}</dd></dl></section>
${canChangeDomains(account) && forms(ctx, domain, path, environments, refused)}`,
    },
  )
}

function forms(
  ctx: ConsoleCtx,
  domain: ProjectDomain,
  path: string,
  environments: CustomEnvironments,
  refused: Refused | undefined,
): Html {
  return html`<form class="stack card" method="post" action="${path}"><h2>What it serves</h2>
${editFields(ctx, refused, (refused) => routingInputs(domain, environments, refused))}
<p class="actions"><button>Save</button></p>
</form>
${dangerCard(
  'Remove this domain',
  html`Visitors of <strong>${domain.name}</strong> get nothing from this project then. If the name is added again within 30 days, this account need not prove it again.`,
  html`<details class="twice"><summary class="button quiet">Remove the domain…</summary>
<form method="post" action="${path}/remove">${csrfFields(ctx)}
${checkboxField('removeRedirects', 'Also remove the domains that redirect to it', false)}
<p class="actions"><button class="danger">Remove the domain</button></p>
</form></details>`,
)}`
}

/** What is to be done until the domain serves, step by step, with the records as they are to be made. Nothing once it is verified. */
function steps(ctx: ConsoleCtx, domain: ProjectDomain, path: string, mayVerify: boolean): Html | undefined {
  const { verification, name, apexName } = domain
  if (verification === undefined) return undefined
  const { edgeCname, edgeIpv4 } = ctx.deps.config.domains
  const leading = recordsOf(edgeCname, edgeIpv4)
  return html`<section class="card" id="steps"><h2>What to do now</h2>
<p>${leading.length > 0 ? 'Make both records' : 'Make this record'} where the DNS of <strong>${apexName}</strong> is managed.</p>
<ol class="steps"><li><h3>Prove that it is yours: make this record</h3>
${verification.map(({ type, domain: at, value }) => html`${recordFacts({ type, values: [value] }, at)}${shortNameHint(at, apexName)}`)}</li>
<li><h3>Point the domain here${leading.length > 0 && `: make ${leading.length > 1 ? 'one of these records' : 'this record'}`}</h3>
${leading.length > 0 ? html`${leading.map((record) => recordFacts(record, name))}${shortNameHint(name, apexName)}` : html`<p>${edgeNotConfigured(ctx)}${!ctx.user.isOperator && ' Ask them which address the domain should lead to.'}</p>`}</li>
<li><h3>Verify</h3>
<p>The first record is looked up at once. A new record may take some minutes to be seen. <a href="${path}/answers">See what each name server says</a></p>
${mayVerify && html`<form method="post" action="${path}/verify">${csrfFields(ctx)}<button>Verify now</button></form>`}</li></ol></section>`
}

/** A record to be made. `when`: what is said behind its type. Of several values one is enough. */
type DnsRecord = { type: string; when?: string; values: readonly string[] }

/** Why no record leads to the edge. Whoever runs the service reads what to do. */
export function edgeNotConfigured({ user }: ConsoleCtx): Html {
  if (!user.isOperator) return html`The operator of this service has not said where its edge is.`
  return withInlineCode(
    'This service does not know where its edge is. Set BERTH_EDGE_CNAME, BERTH_EDGE_IPV4 or both, and start it again.',
  )
}

/** The records that lead a name to the edge, of which one is enough. */
export function recordsOf(cname: string | undefined, addresses: readonly string[]): DnsRecord[] {
  const both = cname !== undefined && addresses.length > 0
  return [
    ...(cname === undefined ? [] : [{ type: 'CNAME', values: [cname], ...(both && { when: ' (recommended)' }) }]),
    ...(addresses.length === 0
      ? []
      : [{ type: 'A', values: addresses, ...(both && { when: ', only where your DNS host refuses a CNAME here' }) }]),
  ]
}

/** A record as it is to be made, with its name and its value to copy. */
export function recordFacts({ type, when, values }: DnsRecord, name: string): Html {
  return html`<dl class="facts"><dt>Type</dt><dd>${type}${when}</dd><dt>Name</dt><dd>${copyable(name, 'name')}</dd>
<dt>Value</dt>${values.map((value, at) => html`<dd>${at > 0 && 'or '}${copyable(value, 'value')}</dd>`)}</dl>`
}

/** Many DNS hosts take a name without the domain: a whole name would become `_berth.example.com.example.com` there. */
function shortNameHint(name: string, apex: string): Html {
  const short = name === apex ? '@' : name.slice(0, -apex.length - 1)
  return html`<p class="soft small">If your DNS host adds <code>${apex}</code> by itself, enter only <code>${short}</code>.</p>`
}

/** One domain of a project: the record that proves it, where DNS leads it, what it serves, and removing it. */
import type { Static } from 'typebox'
import type { DomainConfig, ProjectDomain } from '../../domains/schema.ts'
import { type Html, html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput, tokenField } from '../../pages/screen.ts'
import { Type } from '../../schema/builder.ts'
import { action, faultOf, type Refused } from '../action.ts'
import { dangerCard } from '../controls.ts'
import { check, copyable } from '../fields.ts'
import { accountIn, projectPath, showPage } from '../frame.ts'
import { ago } from '../time.ts'
import { asRouting, DOMAINS, domainPath, mayChange, proofOf, Routing, routingInputs, serves } from './domains.ts'
import { type Environments, environmentsOf } from './environments.ts'

const ONE = `${DOMAINS}/:domain`
const SHOWN = ['getProjectDomain', 'getProjectCustomEnvironments']
const Removal = Type.Object({ removeRedirects: Type.Optional(Type.String()) })

export const domainScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showDomain',
    asks: SHOWN,
    run: (ctx, input) => showDomain(ctx, input),
  }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/dns`,
    name: 'showDomainConfig',
    once: true,
    asks: ['getDomainConfig'],
    run: showDns,
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
    form: Routing,
    asks: 'updateProjectDomain',
    shows: SHOWN,
    wish: ({ params, form }) => ({
      params: { idOrName: params.name!, domain: params.domain! },
      body: asRouting(form),
    }),
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
  const account = await accountIn(ctx, params)
  const project = params.name!
  const domain = await ctx.ask<ProjectDomain>('getProjectDomain', {
    account,
    params: { idOrName: project, domain: params.domain! },
  })
  const environments = await environmentsOf(ctx, account, project)
  const path = domainPath(account, project, domain.name)
  return showPage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: domain.name,
      within: [],
      body: html`<div class="top"><h1>${domain.name}</h1><p class="ways"><a href="${path}/dns">See where DNS leads it</a>${domain.verified && domain.redirect === null && !domain.name.startsWith('*') && html` <a href="https://${domain.name}" rel="noreferrer">Visit</a>`}</p></div>
${faultOf(refused)}
${steps(ctx, domain, path, mayChange(account))}
<section class="card"><h2>What it is</h2>
<dl class="facts"><dt>State</dt><dd>${proofOf(domain)}</dd><dt>Serves</dt><dd>${serves(domain, environments)}</dd>
<dt>Added</dt><dd>${ago(domain.createdAt, ctx.now)}</dd></dl></section>
${mayChange(account) && forms(ctx, domain, path, environments, refused)}`,
    },
  )
}

function forms(
  ctx: ConsoleCtx,
  domain: ProjectDomain,
  path: string,
  environments: Environments,
  refused: Refused | undefined,
): Html {
  return html`<form class="stack card" method="post" action="${path}"><h2>What it serves</h2>
${tokenField(ctx)}
${routingInputs(domain, environments, refused)}
<p class="actions"><button>Save</button></p>
</form>
${dangerCard(
  'Remove this domain',
  html`Visitors of <strong>${domain.name}</strong> get nothing from this project then. Its proof speaks for the account for 30 days more.`,
  html`<form method="post" action="${path}/remove">${tokenField(ctx)}
${check('removeRedirects', 'Also remove the domains that redirect to it', false)}
<p class="actions"><button class="danger">Remove</button></p>
</form>`,
)}`
}

/** What is to be done until the domain serves, step by step, with the records as they are to be made. Nothing once it is verified. */
function steps(ctx: ConsoleCtx, domain: ProjectDomain, path: string, mayVerify: boolean): Html | undefined {
  const { verification, name } = domain
  if (verification === undefined) return undefined
  const { edgeCname, edgeIpv4 } = ctx.deps.config.domains
  const leading = recordsOf(edgeCname, edgeIpv4)
  return html`<section class="card"><h2>What to do now</h2>
<p>Make both records where the DNS of <strong>${name}</strong> is managed.</p>
<ol class="steps"><li><h3>Prove that it is yours: make this record</h3>
${verification.map(({ type, domain: at, value }) => recordFacts(type, at, value))}</li>
<li><h3>Point the domain here${leading.length > 1 && ': make one of these records'}${leading.length === 1 && ': make this record'}</h3>
${leading.length > 0 ? leading.map(([type, value]) => recordFacts(type, name, value)) : html`<p>The operator of this service has not said where its edge is. Ask them which address the domain should lead to.</p>`}</li>
<li><h3>Verify</h3>
<p>The first record is looked up at once. A new record may take some minutes to be seen. <a href="${path}/answers">See what each name server says</a></p>
${mayVerify && html`<form method="post" action="${path}/verify">${tokenField(ctx)}<button>Verify now</button></form>`}</li></ol></section>`
}

/** The records that lead a name to the edge, of which one is enough. */
function recordsOf(
  cname: string | undefined,
  addresses: readonly string[],
): (readonly [type: string, value: string])[] {
  return [...(cname === undefined ? [] : [['CNAME', cname] as const]), ...addresses.map((one) => ['A', one] as const)]
}

function recordFacts(type: string, name: string, value: string): Html {
  return html`<dl class="facts"><dt>Type</dt><dd>${type}</dd><dt>Name</dt><dd>${copyable(name, 'name')}</dd><dt>Value</dt><dd>${copyable(value, 'value')}</dd></dl>`
}

/** Where DNS leads a domain now. It is looked up for this page alone, since name servers may take seconds. */
async function showDns(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await accountIn(ctx, params)
  const project = params.name!
  const config = await ctx.ask<Static<typeof DomainConfig>>('getDomainConfig', {
    account,
    params: { domain: params.domain! },
  })
  const records = recordsOf(
    config.recommendedCNAME[0]?.value,
    config.recommendedIPv4.flatMap(({ value }) => value),
  )
  return showPage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: 'Where DNS leads it',
      within: [[params.domain!, domainPath(account, project, params.domain!)]],
      body: html`<div class="top"><h1>Where DNS leads ${params.domain}</h1></div>
<section class="card"><p>${config.misconfigured ? html`<span class="state bad">Not here</span>` : html`<span class="state good">Here, by its ${config.configuredBy} record</span>`}</p>
<p>${config.misconfigured ? 'The name servers gave no address for it, gave another one, or did not answer.' : 'Visitors of this name reach the edge of this service.'}</p></section>
${
  records.length > 0
    ? html`<h2>${records.length === 1 ? 'This record leads it here' : 'One of these records leads it here'}</h2>
${records.map(([type, value]) => html`<div class="card">${recordFacts(type, params.domain!, value)}</div>`)}`
    : html`<p class="soft">The operator of this service has not said where its edge is, so any address counts.</p>`
}`,
    },
  )
}

/** What name servers say of a domain now: whether it leads here, and whether the record that proves it is seen. docs/domains.md. */

import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import type { DomainAnswers, DomainConfig, ProjectDomain } from '../../projects/domains/schema.ts'
import { dataTable } from '../fields.ts'
import { consolePage, findAccountOfPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { edgeNotConfigured, recordFacts, recordsOf } from './domain.ts'
import { DOMAINS_PATH, domainPath } from './domains.ts'

const ONE = `${DOMAINS_PATH}/:domain`

/** Name servers may take seconds, so each page asks them for itself alone. */
export const nameServerScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${ONE}/dns`,
    name: 'showDomainConfig',
    noAutoRefresh: true,
    calls: ['getDomainConfig'],
    run: showDns,
  }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/answers`,
    name: 'showDomainAnswers',
    noAutoRefresh: true,
    calls: ['getProjectDomain', 'getProjectDomainAnswers'],
    run: showAnswers,
  }),
]

async function showDns(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const [project, name] = [params.name!, params.domain!]
  const config = await ctx.ask<DomainConfig>('getDomainConfig', { account, params: { domain: name } })
  const path = domainPath(account, project, name)
  const records = recordsOf(
    config.recommendedCNAME[0]?.value,
    config.recommendedIPv4.flatMap(({ value }) => value),
  )
  return consolePage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: 'Where DNS leads it',
      within: [[name, path]],
      body: html`<div class="top"><h1>Where DNS leads ${name}</h1>${again(`${path}/dns`)}</div>
<section class="card">${pointing(config, records.length > 0)}
${checked(ctx)}</section>
${
  records.length > 0
    ? html`<h2>${records.length === 1 ? 'This record leads it here' : 'One of these records leads it here'}</h2>
${records.map((record) => html`<div class="card">${recordFacts(record, name)}</div>`)}`
    : html`<p class="soft">${edgeNotConfigured(ctx)}</p>`
}
<p class="ways"><a href="${path}/answers">See what each name server says of the record that proves it</a></p>`,
    },
  )
}

/** Where visitors of a name come to. Where no edge is set there is nothing to compare with, so nothing is said to be wrong. */
function pointing({ configuredBy }: DomainConfig, isEdgeSet: boolean): Html {
  if (!isEdgeSet)
    return html`<p><span class="state">Cannot be judged</span></p>
<p>${configuredBy === null ? 'The name servers gave no address for it, or did not answer.' : `It has an address, by its ${configuredBy} record. Whether that is the edge of this service is not known.`}</p>`
  if (configuredBy === null)
    return html`<p><span class="state bad">Not here</span></p>
<p>The name servers gave no address for it, gave another one, or did not answer.</p>`
  return html`<p><span class="state good">Here, by its ${configuredBy} record</span></p>
<p>Visitors of this name reach the edge of this service.</p>`
}

function again(path: string): Html {
  return html`<a class="button quiet" href="${path}">Check again</a>`
}

function checked({ now }: ConsoleCtx): Html {
  return html`<p class="soft small">Checked ${relativeTime(now, now)}.</p>`
}

/** TABLE what a name server says of the record, how that looks, and what it has where it tells nothing. */
const ANSWERS = {
  found: ['good', 'It has the record', 'the record'],
  missing: ['warn', 'It has no such record', 'no record'],
  other: ['bad', 'It has another record', ''],
  'no-answer': ['bad', 'It did not answer in time', 'not known'],
} as const

async function showAnswers(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const [project, name] = [params.name!, params.domain!]
  const input = { account, params: { idOrName: project, domain: name } }
  const { verification = [] } = await ctx.ask<ProjectDomain>('getProjectDomain', input)
  const { nameServers } = await ctx.ask<DomainAnswers>('getProjectDomainAnswers', input)
  const path = domainPath(account, project, name)
  return consolePage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: 'What name servers say',
      within: [[name, path]],
      body: html`<div class="top"><h1>What name servers say of ${name}</h1>${again(`${path}/answers`)}</div>
${verification.map(
  ({ type, domain: at, value }) => html`<section class="card"><h2>The record that they are asked for</h2>
${recordFacts({ type, values: [value] }, at)}
${checked(ctx)}</section>`,
)}
<p>Each name server of this service is asked by itself. A domain is verified once they have the record and somebody presses “Verify now”: nothing looks for it by itself.</p>
${dataTable(
  'Name servers',
  ['Name server', 'Answer', 'What it has'],
  nameServers.map(({ state, seen }, at) => {
    const [look, words, has] = ANSWERS[state]
    return html`<tr><td>Name server ${at + 1}</td><td><span class="state ${look}">${words}</span></td><td>${seen === null ? html`<span class="soft">${has}</span>` : seen}</td></tr>`
  }),
  { none: 'The domain is verified: there is no record to look for.' },
)}`,
    },
  )
}

import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import type { DomainAnswers, DomainConfig, ProjectDomain } from '../../projects/domains/schema.ts'
import { dataTable } from '../fields.ts'
import { findAccountOfPath, projectPage } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { checks, edgeNotConfigured, recordFacts, recordsOf } from './domain.ts'
import { canChangeDomains, DOMAINS_PATH, domainPath } from './domains.ts'

const ONE = `${DOMAINS_PATH}/:domain`
const NO_ADDRESS = 'They returned no address: the record is missing, or too new to be seen.'
const NO_ANSWER = 'They did not answer in time: check again in a minute.'

/** Name servers can take seconds, so these queries have their own pages. docs/domains.md. */
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
  const config = await ctx.callRoute<DomainConfig>('getDomainConfig', { account, params: { domain: name } })
  const path = domainPath(account, project, name)
  const records = recordsOf(
    config.recommendedCNAME[0]?.value,
    config.recommendedIPv4.flatMap(({ value }) => value),
  )
  return projectPage(ctx, account, project, 'domains', {
    title: 'DNS check',
    within: [[name, path]],
    body: html`<div class="head"><h1>DNS of ${name}</h1>${again(`${path}/dns`)}</div>
<section class="card in stack">${pointing(config, records.length > 0)}
${checked(ctx)}</section>
${
  records.length > 0
    ? html`<h2>${recordsHeading(config, records.length)}</h2>
${records.map((record) => html`<div class="card in stack">${recordFacts(record, name)}</div>`)}`
    : html`<p class="soft">${edgeNotConfigured(ctx)}</p>`
}
<p class="line"><a href="${path}/answers">Name server answers for the ownership record</a></p>`,
  })
}

function recordsHeading({ configuredBy }: DomainConfig, count: number): string {
  if (configuredBy !== null) return 'Records that lead here'
  return count === 1 ? 'Add this record' : 'Add one of these records'
}

/** Without a configured edge, no result is shown as wrong. */
function pointing({ configuredBy }: DomainConfig, isEdgeSet: boolean): Html {
  if (!isEdgeSet)
    return html`<p>${state('idle', 'Unknown')}</p>
${configuredBy === null ? causes([NO_ADDRESS, NO_ANSWER]) : html`<p>It has an address from its ${configuredBy} record. Berth cannot check whether it points here, because no edge address is configured.</p>`}`
  if (configuredBy === null)
    return html`<p>${state('bad', 'Not pointing here')}</p>
${causes([NO_ADDRESS, 'They returned another address: replace that record with one from below.', NO_ANSWER])}`
  return html`<p>${state('good', html`Points here (${configuredBy} record)`)}</p>
<p>Visitors of this domain reach the edge.</p>`
}

/** The lookup does not distinguish them. */
function causes(sentences: readonly string[]): Html {
  return html`<p>One of these happened at the name servers:</p>
<ul class="causes">${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>`
}

function again(path: string): Html {
  return html`<a class="btn" href="${path}">Check again</a>`
}

function checked({ now }: ConsoleCtx): Html {
  return html`<p class="soft small">Checked ${relativeTime(now, now)}.</p>`
}

/** TABLE Name server answers: color, label, and the record if none is returned. */
const ANSWERS = {
  found: ['good', 'Record found', 'The record'],
  missing: ['warn', 'No record', 'No record'],
  other: ['bad', 'Different record', ''],
  'no-answer': ['bad', 'No answer in time', 'Unknown'],
} as const

async function showAnswers(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const [project, name] = [params.name!, params.domain!]
  const input = { account, params: { idOrName: project, domain: name } }
  const domain = await ctx.callRoute<ProjectDomain>('getProjectDomain', input)
  const { verification = [] } = domain
  const { nameServers } = await ctx.callRoute<DomainAnswers>('getProjectDomainAnswers', input)
  const path = domainPath(account, project, name)
  return projectPage(ctx, account, project, 'domains', {
    title: 'Name server answers',
    within: [[name, path]],
    body: html`<div class="head"><h1>Name server answers for ${name}</h1>${again(`${path}/answers`)}</div>
${verification.map(
  ({ type, domain: at, value }) => html`<section class="card in stack"><h2>Expected record</h2>
${recordFacts({ type, values: [value] }, at)}
${checked(ctx)}</section>`,
)}
${verification.length > 0 && html`<p>Berth queries each of its name servers. Once they return the record, Berth can verify the domain. ${checks(domain, ctx.now, canChangeDomains(account))}</p>`}
${dataTable(
  'Name servers',
  ['Name server', 'Answer', 'Record'],
  nameServers.map(({ state: answer, seen }, at) => {
    const [look, words, has] = ANSWERS[answer]
    return html`<tr><td>Name server ${at + 1}</td><td>${state(look, words)}</td><td>${seen === null ? html`<span class="soft">${has}</span>` : seen}</td></tr>`
  }),
  { none: 'The domain is verified. No record is needed.' },
)}`,
  })
}

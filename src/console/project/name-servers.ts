/** What each name server says of the record that proves a domain, for whoever waits until it is seen. docs/domains.md. */
import type { DomainAnswers } from '../../domains/schema.ts'
import { html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../pages/screen.ts'
import { sheet } from '../fields.ts'
import { accountIn, showPage } from '../frame.ts'
import { DOMAINS, domainPath } from './domains.ts'

export const nameServerScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${DOMAINS}/:domain/answers`,
    name: 'showDomainAnswers',
    once: true,
    asks: ['getProjectDomainAnswers'],
    run: showAnswers,
  }),
]

/** TABLE what a name server says of the record, and how it looks. */
const ANSWERS = {
  found: ['good', 'It has the record'],
  missing: ['', 'It has no such record'],
  other: ['bad', 'It has another record'],
  'no-answer': ['bad', 'It did not answer'],
} as const

/** The name servers are asked for this page alone, since they may take seconds. */
async function showAnswers(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await accountIn(ctx, params)
  const [project, name] = [params.name!, params.domain!]
  const { nameServers } = await ctx.ask<DomainAnswers>('getProjectDomainAnswers', {
    account,
    params: { idOrName: project, domain: name },
  })
  return showPage(
    ctx,
    { account, project, tab: 'domains' },
    {
      title: 'What name servers say',
      within: [[name, domainPath(account, project, name)]],
      body: html`<div class="top"><h1>What name servers say of ${name}</h1></div>
<p>Each name server of this service was asked by itself just now. A domain is verified once they have the record and somebody presses “Verify now”: nothing looks for it by itself.</p>
${sheet(
  'Name servers',
  ['Name server', 'Answer', 'What it has'],
  nameServers.map(({ state, seen }, at) => {
    const [look, words] = ANSWERS[state]
    return html`<tr><td>${at + 1}</td><td><span class="state ${look}">${words}</span></td><td>${seen}</td></tr>`
  }),
  { none: 'The domain is verified: there is no record to look for.' },
)}`,
    },
  )
}

/** What `berth doctor` says of the running service, and what `berth report` says of what is in it. */
import type { Static } from 'typebox'
import type { Health } from '../../operations/doctor/routes.ts'
import type { AttentionItem, Kind, Report, Section } from '../../operations/report/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { showAdvice, withInlineCode } from '../advice-commands.ts'
import { countOf, heading } from '../controls.ts'
import { dataTable } from '../fields.ts'
import { relativeTime } from '../time.ts'
import { operatorPage, operatorPath } from './frame.ts'

/** The page that makes the checks. It takes as long as they do: some seconds, where a server does not answer. */
export const CHECKS_PATH = operatorPath('health', 'checks')

export const healthScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: operatorPath('health'),
    name: 'showHealth',
    calls: [],
    requiresReauthentication: true,
    run: showHealth,
  }),
  consoleScreen({
    method: 'GET',
    path: CHECKS_PATH,
    name: 'showChecks',
    calls: ['operatorGetHealth'],
    requiresReauthentication: true,
    run: showChecks,
  }),
  consoleScreen({
    method: 'GET',
    path: operatorPath('attention'),
    name: 'showAttention',
    calls: ['operatorGetReport'],
    requiresReauthentication: true,
    run: showAttention,
  }),
]

/** TABLE how a finding looks, and its word. */
const LOOKS = { well: ['good', 'Well'], worry: ['warn', 'Look at it'], wrong: ['bad', 'Wrong'] } as const

type Finding = Static<typeof Health>['findings'][number]

/** Where the page of the checks says the state of the whole. The overview takes that in, once it is there. */
export const STATE_FRAME = 'health-state'
/** All that the checks found. The page of health takes that in. */
const CHECKS_FRAME = 'health-checks'

async function showHealth(ctx: ConsoleCtx): Promise<Page> {
  return operatorPage(ctx, 'health', {
    title: 'Health',
    body: html`${heading('Health')}
<p class="soft">What Berth needs: settings, keys, the store, DNS, mail, the clock, the disk. <code>berth doctor</code> checks the same. The checks may take some seconds.</p>
<turbo-frame id="${CHECKS_FRAME}" src="${CHECKS_PATH}"><p><a class="button" href="${CHECKS_PATH}">Make the checks</a></p></turbo-frame>`,
  })
}

async function showChecks(ctx: ConsoleCtx): Promise<Page> {
  const { findings } = await ctx.ask<Static<typeof Health>>('operatorGetHealth')
  const of = (look: Finding['is']) => findings.filter(({ is }) => is === look)
  const [open, well] = [[...of('wrong'), ...of('worry')], of('well')]
  return operatorPage(ctx, 'health', {
    title: 'Checks of health',
    body: html`${heading('Checks of health')}
<turbo-frame id="${CHECKS_FRAME}">
<p><turbo-frame id="${STATE_FRAME}">${stateOf(findings)}</turbo-frame></p>
${open.length > 0 && findingSheet('What needs something', open)}
${well.length > 0 && html`<details><summary>${countOf(well.length, 'check')} in order</summary>${findingSheet('In order', well)}</details>`}
</turbo-frame>`,
  })
}

function findingSheet(caption: string, findings: readonly Finding[]): Html {
  const rows = findings.map(({ about, is, found, advice }) => {
    const [look, word] = LOOKS[is]
    return html`<tr><td>${about}</td><td><span class="state ${look}">${word}</span></td><td>${withInlineCode(found)}${advice && showAdvice(advice)}</td></tr>`
  })
  return dataTable(caption, ['What', 'State', 'Found'], rows)
}

/** The state of the whole is that of the worst finding. */
function stateOf(findings: readonly Finding[]): Html {
  const worries = findings.filter(({ is }) => is === 'worry').length
  if (findings.some(({ is }) => is === 'wrong')) return html`<span class="state bad">Something is wrong</span>`
  if (worries > 0) return html`<span class="state warn">${countOf(worries, 'thing')} to look at</span>`
  return html`<span class="state good">Nothing is wrong</span>`
}

/** TABLE the pages of the operator on which something is done about a kind, by the section; with a name, that of one. */
const PAGES: Partial<Record<Kind, (item: AttentionItem) => string>> = {
  backups: () => operatorPath('backups'),
  'tokens-of-suspended': tokenOf,
  'tokens-unused': tokenOf,
  'tokens-without-end': tokenOf,
  'teams-without-owner': ({ what }) => operatorPath('teams', what),
  'integrations-without-owner': () => operatorPath('integrations'),
  'people-never-seen': ({ what }) => operatorPath('people', what),
}

function tokenOf({ where }: AttentionItem): string {
  return `${operatorPath('tokens')}?${new URLSearchParams({ search: where ?? '' })}`
}

async function showAttention(ctx: ConsoleCtx): Promise<Page> {
  const { sections } = await ctx.ask<Report>('operatorGetReport')
  return operatorPage(ctx, 'attention', {
    title: 'Needs attention',
    body: html`${heading('Needs attention')}
<p class="soft">What waits for somebody, of all accounts. <code>berth report</code> tells the same.</p>
${sections.length === 0 && html`<p class="card empty">Nothing needs attention.</p>`}
${sections.map((section) => showSection(section, ctx.now))}`,
  })
}

function showSection({ kind, title, count, partial, items }: Section, now: number): Html {
  const pageOf = PAGES[kind]
  return html`<h2>${title} <span class="tag">${partial ? `${count} or more` : count}</span></h2>
${items.length < count && html`<p class="soft small">The ${items.length} for the longest.</p>`}
${dataTable(
  title,
  ['What', 'Where', 'Began', 'To do'],
  items.map(
    (
      item,
    ) => html`<tr><td>${pageOf ? html`<a href="${pageOf(item)}">${item.what}</a>` : item.what}${item.id && html`<br><code class="small">${item.id}</code>`}</td>
<td>${item.where}</td><td>${item.since !== null && relativeTime(item.since, now)}</td><td>${showAdvice(item.advice)}</td></tr>`,
  ),
  { none: 'None was found so far.' },
)}`
}

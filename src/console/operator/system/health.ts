/** Health shows what `berth doctor` checks; Needs attention shows the items of `berth report`. */

import type { Static } from 'typebox'
import type { Health } from '../../../operations/doctor/routes.ts'
import type { AttentionItem, Kind, Report, Section } from '../../../operations/report/schema.ts'
import { state } from '../../../platform/pages/face/states.ts'
import type { Page } from '../../../platform/pages/frame.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../../platform/pages/screen.ts'
import { showAdvice, withInlineCode } from '../../advice-commands.ts'
import { countOf, heading } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import { relativeTime } from '../../time.ts'
import { operatorPage, operatorPath } from '../frame.ts'

/** Runs the checks, which take some seconds if a server does not respond. */
export const CHECKS_PATH = operatorPath('health', 'checks')

export const healthScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: operatorPath('health'),
    name: 'showHealth',
    calls: [],
    run: showHealth,
  }),
  consoleScreen({
    method: 'GET',
    path: CHECKS_PATH,
    name: 'showChecks',
    calls: ['operatorGetHealth'],
    run: showChecks,
  }),
  consoleScreen({
    method: 'GET',
    path: operatorPath('attention'),
    name: 'showAttention',
    calls: ['operatorGetReport'],
    run: showAttention,
  }),
]

/** TABLE Findings: color, label and shape. */
const LOOKS = {
  well: ['good', 'OK', 'ready'],
  worry: ['warn', 'Warning', 'warning'],
  wrong: ['bad', 'Error', 'failed'],
} as const

type Finding = Static<typeof Health>['findings'][number]

/** Frame with the state and what is not in order, which the overview embeds. */
export const OPEN_FRAME = 'health-open'
/** Frame with all findings, which the health page embeds. */
const CHECKS_FRAME = 'health-checks'

async function showHealth(ctx: ConsoleCtx): Promise<Page> {
  return operatorPage(ctx, 'health', {
    title: 'Health',
    body: html`${heading('Health')}
<p class="soft">Settings, keys, database, DNS, email, clock and disk. Same as <code>berth doctor</code>. The checks can take some seconds.</p>
<turbo-frame id="${CHECKS_FRAME}" src="${CHECKS_PATH}"><p><a class="btn primary" href="${CHECKS_PATH}">Run checks</a></p></turbo-frame>`,
  })
}

async function showChecks(ctx: ConsoleCtx): Promise<Page> {
  const { findings } = await ctx.callRoute<Static<typeof Health>>('operatorGetHealth')
  const of = (look: Finding['is']) => findings.filter(({ is }) => is === look)
  const [open, well] = [[...of('wrong'), ...of('worry')], of('well')]
  return operatorPage(ctx, 'health', {
    title: 'Health checks',
    body: html`${heading('Health checks')}
<turbo-frame id="${CHECKS_FRAME}">
<turbo-frame id="${OPEN_FRAME}"><p>${stateOf(findings)}</p>
${open.length > 0 && html`<ul class="card rows">${open.map(openFinding)}</ul>`}</turbo-frame>
${well.length > 0 && html`<details><summary>${countOf(well.length, 'check')} passed</summary>${passed(well)}</details>`}
</turbo-frame>`,
  })
}

/** TABLE Pages on which to act, by check. */
const PAGES_OF_CHECKS: Readonly<Record<string, readonly [path: string, words: string]>> = {
  backups: [operatorPath('backups'), 'Backups'],
  keyring: [operatorPath('keys'), 'Keys'],
  'keyring copy': [operatorPath('keys'), 'Keys'],
  builds: [operatorPath('runners'), 'Runners'],
}

function openFinding({ about, is, found, advice }: Finding): Html {
  const [look, word, shape] = LOOKS[is]
  const page = PAGES_OF_CHECKS[about]
  return html`<li class="row"><div class="grow any"><p class="line"><b>${capitalized(about)}</b>${state(look, word, shape)}</p>
<p>${withInlineCode(`${capitalized(found)}.`)}</p>${advice && html`<div class="soft">${showAdvice(capitalized(advice))}</div>`}</div>${page && html`<a class="btn small" href="${page[0]}" data-turbo-frame="_top">${page[1]}</a>`}</li>`
}

/** Commands and names stay as they are typed. */
function capitalized(text: string): string {
  return /^(?!berth |ch(?:mod|own) )[a-z]+(?:[ ,:]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
}

function passed(findings: readonly Finding[]): Html {
  const rows = findings.map(
    ({ about, found }) =>
      html`<tr><td>${about}</td><td>${state(...LOOKS.well)}</td><td>${withInlineCode(found)}</td></tr>`,
  )
  return dataTable('Passed', ['Check', 'State', 'Result'], rows)
}

/** The worst finding decides. */
function stateOf(findings: readonly Finding[]): Html {
  const worries = findings.filter(({ is }) => is === 'worry').length
  if (findings.some(({ is }) => is === 'wrong')) return state('bad', 'Errors found')
  if (worries > 0) return state('warn', countOf(worries, 'warning'), 'warning')
  return state('good', 'All checks passed')
}

/** TABLE Pages for the items of a section, by kind. */
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
  const { sections } = await ctx.callRoute<Report>('operatorGetReport')
  return operatorPage(ctx, 'attention', {
    title: 'Needs attention',
    body: html`${heading('Needs attention')}
<p class="soft">Open items in all accounts. Same as <code>berth report</code>.</p>
${sections.length === 0 && html`<p class="card empty">Nothing needs attention.</p>`}
${sections.map((section) => showSection(section, ctx.now))}`,
  })
}

function showSection({ kind, title, count, partial, items }: Section, now: number): Html {
  const pageOf = PAGES[kind]
  return html`<h2>${title} <span class="badge">${partial ? `${count} or more` : count}</span></h2>
${items.length < count && html`<p class="soft small">The ${items.length} oldest.</p>`}
${dataTable(
  title,
  ['Item', 'Where', 'Started', 'Action'],
  items.map(
    (
      item,
    ) => html`<tr><td>${pageOf ? html`<a href="${pageOf(item)}">${item.what}</a>` : item.what}${item.id && html`<br><code class="small">${item.id}</code>`}</td>
<td>${item.where}</td><td>${item.since !== null && relativeTime(item.since, now)}</td><td>${showAdvice(item.advice)}</td></tr>`,
  ),
  { none: 'None found yet.' },
)}`
}

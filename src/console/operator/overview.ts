/** The health checks take seconds, so a frame loads them. Without script, the page shows only the link. */

import type { Static } from 'typebox'
import type { Setup } from '../../operations/operator/setup.ts'
import type { Statistics } from '../../operations/statistics/statistics.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { barChart, columnChart, sparkline } from '../charts.ts'
import type { FormError } from '../form-error.ts'
import { relativeTime } from '../time.ts'
import { bytes, operatorPage, operatorPath } from './frame.ts'
import { CHECKS_PATH, OPEN_FRAME } from './system/health.ts'
import { setupList } from './system/setup.ts'

const SHOWN = ['operatorGetStatistics', 'operatorGetSetup']

export const overviewScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: operatorPath(),
    name: 'showOperator',
    calls: SHOWN,
    run: (ctx) => showOverview(ctx),
  }),
  action({
    path: `${operatorPath('setup')}/:step`,
    name: 'consoleAcknowledgeSetup',
    calls: 'operatorAcknowledgeSetup',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { step: params.step! } }),
    next: () => operatorPath(),
    renderErrors: (ctx, _, error) => showOverview(ctx, error),
  }),
]

/** The route stops counting at these numbers. */
const MOST = 10_000
const MAX_HISTORY = 100_000
const HOUR_MS = 3_600_000
/** The number above says as much as a chart of fewer hours. */
const FEWEST = 3
const HOURS = 24

type Numbers = Static<typeof Statistics>

async function showOverview(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  const numbers = await ctx.callRoute<Numbers>('operatorGetStatistics')
  const setup = await ctx.callRoute<Static<typeof Setup>>('operatorGetSetup')
  const { version, engine, node, startedAt, deliveries } = numbers
  return operatorPage(ctx, '', {
    title: 'Overview',
    body: html`<div class="head"><div class="grow"><h1>Overview</h1>
<p class="sub"><span class="dots"><span>Berth ${version}</span><span>started ${relativeTime(startedAt, ctx.now)}</span><span>${engine === 'sqlite' ? 'embedded SQLite' : 'PostgreSQL'}</span><span>Node.js ${node}</span></span></p></div></div>
${formErrorNotice(error)}
${tiles(numbers, ctx.now)}
${setupList(ctx, setup)}
${deliveries.length >= FEWEST && html`<section class="card in stack"><h2>Deliveries in the last 24 hours</h2>${drawDeliveries(deliveries)}</section>`}
<div class="bay"><div class="split"><section class="stack" aria-labelledby="health"><div class="head"><h2 id="health">Health</h2><a class="btn quiet small" href="${operatorPath('health')}">All checks${icon('arrow-right')}</a></div>
<turbo-frame id="${OPEN_FRAME}" src="${CHECKS_PATH}"><p class="card empty">The checks take some seconds.</p></turbo-frame></section>
<div class="stack">
<section class="card in stack tight"><h2>Retained history</h2><dl class="facts">${historyFacts(numbers.history)}</dl></section>
<h2>Failed requests</h2>
<p class="soft">Most frequent errors of this instance since it started.</p>
${barChart(
  'Failed requests',
  'Error',
  numbers.refusals.map(({ key, count }) => ({ name: key.replaceAll('_', ' '), count })),
  'No failed requests.',
)}</div></div></div>`,
  })
}

/** The numbers of the service in one row. */
function tiles({ users, teams, projects, store, deliveries }: Numbers, now: number): Html {
  const among = (value: number) => (users + teams >= MOST ? `${value} or more` : String(value))
  const size = store.at(-1)
  const sizes = store.map(({ bytes: size }) => size)
  const failed = deliveries.reduce((sum, hour) => sum + hour.failed, 0)
  const hourly = deliveriesByHour(deliveries, now)
  const sent = hourly.reduce((sum, count) => sum + count, 0)
  return html`<dl class="tiles">
<div class="hit"><dt>Users</dt><dd class="big"><a class="to" href="${operatorPath('people')}">${among(users)}</a></dd></div>
<div class="hit"><dt>Teams</dt><dd class="big"><a class="to" href="${operatorPath('teams')}">${among(teams)}</a></dd></div>
<div><dt>Projects</dt><dd class="big">${projects >= MOST ? `${projects} or more` : projects}</dd></div>
<div><dt>Database</dt><dd class="big">${size === undefined ? '–' : bytes(size.bytes)}</dd><dd>${sparkline(`By day, ${bytes(Math.min(...sizes))} to ${bytes(Math.max(...sizes))}`, sizes)}</dd></div>
<div class="hit"><dt>Deliveries, 24 h</dt><dd class="big"><a class="to" href="${operatorPath('deliveries')}">${sent.toLocaleString('en')}</a></dd>
<dd class="small">${failed > 0 && html`<span class="bad medium">${failed.toLocaleString('en')} failed</span>`}${sparkline(`By hour, at most ${Math.max(...hourly)}`, hourly)}</dd></div>
</dl>`
}

/** Hours without a delivery are not in the statistics. */
function deliveriesByHour(deliveries: Numbers['deliveries'], now: number): number[] {
  const last = Math.floor(now / HOUR_MS)
  return Array.from({ length: HOURS }, (_, at) => {
    const found = deliveries.find(({ hour }) => hour === (last - HOURS + 1 + at) * HOUR_MS)
    return found === undefined ? 0 : found.delivered + found.failed + found.dropped + found.pending
  })
}

function drawDeliveries(deliveries: Numbers['deliveries']): Html {
  return columnChart(
    'Deliveries by hour',
    [
      { words: 'delivered', look: 'good' },
      { words: 'failed', look: 'bad' },
      { words: 'dropped', look: 'soft' },
      { words: 'pending', look: 'main' },
    ],
    deliveries.map(({ hour, delivered, failed, dropped, pending }) => {
      const at = new Date(hour).toISOString()
      return { name: `${at.slice(11, 16)} UTC`, title: at, counts: [delivered, failed, dropped, pending] }
    }),
  )
}

/** TABLE Retained history: labels. */
const HISTORY = {
  auditLines: 'Audit entries',
  events: 'Events',
  deliveries: 'Deliveries',
  variableVersions: 'Variable versions',
} as const

function historyFacts(history: Numbers['history']): Html[] {
  return Object.entries(HISTORY).map(([key, name]) => {
    const count = history[key as keyof typeof HISTORY]
    const shownCount = count.toLocaleString('en')
    return html`<dt>${name}</dt><dd>${count >= MAX_HISTORY ? `${shownCount} or more` : shownCount}</dd>`
  })
}

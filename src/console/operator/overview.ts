/**
 * The operator's first page: its health, the service in numbers, and what runs. The checks of health take seconds, so a frame asks for them beside the
 * page; without script there is the link alone.
 */
import type { Static } from 'typebox'
import type { Statistics } from '../../operations/statistics/statistics.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { barChart, type ChartBar, columnChart } from '../charts.ts'
import { heading } from '../controls.ts'
import { relativeTime } from '../time.ts'
import { bytes, operatorPage, operatorPath } from './frame.ts'
import { CHECKS_PATH, STATE_FRAME } from './health.ts'

export const overviewScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: operatorPath(),
    name: 'showOperator',
    calls: ['operatorGetStatistics'],
    requiresReauthentication: true,
    run: showOverview,
  }),
]

/** As the route counts: what is more is not counted to its end. */
const MOST = 10_000
const MAX_HISTORY = 100_000

async function showOverview(ctx: ConsoleCtx) {
  const numbers = await ctx.ask<Static<typeof Statistics>>('operatorGetStatistics')
  const { version, engine, node, startedAt, store, deliveries } = numbers
  const { users, teams, projects } = numbers
  const among = (value: number) => (users + teams >= MOST ? `${value} or more` : String(value))
  const size = store.at(-1)
  return operatorPage(ctx, '', {
    title: 'Overview',
    body: html`${heading('Overview')}
<p class="notice"><strong>Health</strong> · <a href="${operatorPath('health')}">See the checks</a> <turbo-frame id="${STATE_FRAME}" src="${CHECKS_PATH}" loading="lazy"></turbo-frame></p>
<section class="card"><dl class="facts">
<dt>People</dt><dd><a href="${operatorPath('people')}">${among(users)}</a></dd>
<dt>Teams</dt><dd><a href="${operatorPath('teams')}">${among(teams)}</a></dd>
<dt>Projects</dt><dd>${projects >= MOST ? `${projects} or more` : projects}</dd>
</dl></section>
<section class="card"><h2>Deliveries of the last 24 hours</h2>
${drawDeliveries(deliveries)}
</section>
<section class="card"><h2>Size of the store</h2>
${columnChart(
  'Size of the store by day',
  [{ words: 'size', look: 'main' }],
  store.map(({ day, bytes: size }) => ({ name: day, title: day, counts: [size] })),
  bytes,
)}
</section>
<h2>History that is kept</h2>
${barChart('History that is kept', 'Of what', historyBars(numbers.history), '')}
<h2>Requests that were refused</h2>
<p class="soft">By this instance since it started, the most frequent.</p>
${barChart(
  'Requests that were refused',
  'Why',
  numbers.refusals.map(({ key, count }) => ({ name: key.replaceAll('_', ' '), count })),
  'Nothing was refused.',
)}
<section class="card"><h2>What runs</h2><dl class="facts">
<dt>Started</dt><dd>${relativeTime(startedAt, ctx.now)}</dd>
<dt>Store</dt><dd>${engine === 'sqlite' ? 'embedded SQLite' : 'PostgreSQL'}${size && html`, ${bytes(size.bytes)}`}</dd>
<dt>Node.js</dt><dd>${node}</dd>
<dt>Version</dt><dd>${version}</dd>
</dl></section>`,
  })
}

function drawDeliveries(deliveries: Static<typeof Statistics>['deliveries']): Html {
  return columnChart(
    'Deliveries by hour',
    [
      { words: 'delivered', look: 'good' },
      { words: 'failed', look: 'bad' },
      { words: 'dropped', look: 'soft' },
      { words: 'waiting', look: 'main' },
    ],
    deliveries.map(({ hour, delivered, failed, dropped, pending }) => {
      const at = new Date(hour).toISOString()
      return { name: `${at.slice(11, 16)} UTC`, title: at, counts: [delivered, failed, dropped, pending] }
    }),
  )
}

/** TABLE the words for what is kept of the past. */
const HISTORY = {
  auditLines: 'Lines of the audit log',
  events: 'Events',
  deliveries: 'Deliveries',
  variableVersions: 'Versions of variables',
} as const

function historyBars(history: Static<typeof Statistics>['history']): ChartBar[] {
  return Object.entries(HISTORY).map(([key, name]) => {
    const count = history[key as keyof typeof HISTORY]
    return { name, count, told: count >= MAX_HISTORY ? `${count} or more` : String(count) }
  })
}

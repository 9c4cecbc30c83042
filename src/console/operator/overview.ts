/** The health checks take seconds, so a frame loads them. Without script, the page shows only the link. */

import type { Static } from 'typebox'
import type { Statistics } from '../../operations/statistics/statistics.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { barChart, type ChartBar, columnChart } from '../charts.ts'
import { heading } from '../controls.ts'
import { relativeTime } from '../time.ts'
import { bytes, operatorPage, operatorPath } from './frame.ts'
import { CHECKS_PATH, STATE_FRAME } from './system/health.ts'

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

/** The route stops counting at these numbers. */
const MOST = 10_000
const MAX_HISTORY = 100_000

async function showOverview(ctx: ConsoleCtx) {
  const numbers = await ctx.callRoute<Static<typeof Statistics>>('operatorGetStatistics')
  const { version, engine, node, startedAt, store, deliveries } = numbers
  const { users, teams, projects } = numbers
  const among = (value: number) => (users + teams >= MOST ? `${value} or more` : String(value))
  const size = store.at(-1)
  return operatorPage(ctx, '', {
    title: 'Overview',
    body: html`${heading('Overview')}
${note('info', html`<strong>Health</strong> · <a href="${operatorPath('health')}">View checks</a> <turbo-frame id="${STATE_FRAME}" src="${CHECKS_PATH}" loading="lazy"></turbo-frame>`)}
<section class="card in stack"><dl class="facts">
<dt>People</dt><dd><a href="${operatorPath('people')}">${among(users)}</a></dd>
<dt>Teams</dt><dd><a href="${operatorPath('teams')}">${among(teams)}</a></dd>
<dt>Projects</dt><dd>${projects >= MOST ? `${projects} or more` : projects}</dd>
</dl></section>
<section class="card in stack"><h2>Deliveries in the last 24 hours</h2>
${drawDeliveries(deliveries)}
</section>
<section class="card in stack"><h2>Database size</h2>
${columnChart(
  'Database size by day',
  [{ words: 'size', look: 'main' }],
  store.map(({ day, bytes: size }) => ({ name: day, title: day, counts: [size] })),
  bytes,
)}
</section>
<h2>Retained history</h2>
${barChart('Retained history', 'Kind', historyBars(numbers.history), '')}
<h2>Failed requests</h2>
<p class="soft">Most frequent errors of this instance since it started.</p>
${barChart(
  'Failed requests',
  'Error',
  numbers.refusals.map(({ key, count }) => ({ name: key.replaceAll('_', ' '), count })),
  'No failed requests.',
)}
<section class="card in stack"><h2>Server</h2><dl class="facts">
<dt>Started</dt><dd>${relativeTime(startedAt, ctx.now)}</dd>
<dt>Database</dt><dd>${engine === 'sqlite' ? 'embedded SQLite' : 'PostgreSQL'}${size && html`, ${bytes(size.bytes)}`}</dd>
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

function historyBars(history: Static<typeof Statistics>['history']): ChartBar[] {
  return Object.entries(HISTORY).map(([key, name]) => {
    const count = history[key as keyof typeof HISTORY]
    return { name, count, told: count >= MAX_HISTORY ? `${count} or more` : String(count) }
  })
}

import type { Static } from 'typebox'
import type { TimerList } from '../../operations/operator/sweeps.ts'
import { state } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { relativeTime } from '../time.ts'
import { operatorPage, operatorPath } from './frame.ts'

const LIST = operatorPath('timers')

export const timerScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showTimers',
    calls: ['operatorListTimers'],
    run: (ctx) => showTimers(ctx),
  }),
  action({
    path: `${LIST}/:name/run`,
    name: 'consoleRunTimer',
    calls: 'operatorRunTimer',
    renderCalls: ['operatorListTimers'],
    request: ({ params }) => ({ params: { name: params.name! }, body: {} }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showTimers(ctx, error),
  }),
]

async function showTimers(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  const { timers } = await ctx.callRoute<Static<typeof TimerList>>('operatorListTimers')
  return operatorPage(ctx, 'timers', {
    title: 'Timers',
    body: html`${heading('Timers')}
${formErrorNotice(error)}
<p class="soft">Counts since this instance started.</p>
${dataTable(
  'Timers',
  ['Timer', 'Runs', 'Last run', 'Rows', 'Failures', 'Actions'],
  timers.map(
    (timer) => html`<tr><td>${timer.name}</td><td>${every(timer.periodMs)}</td>
<td>${timer.lastRunAt === null ? 'never' : relativeTime(timer.lastRunAt, ctx.now)}</td><td>${timer.swept}</td>
<td>${timer.failures > 0 ? state('bad', String(timer.failures)) : '0'}</td>
<td class="act">${button(ctx, `${operatorPath('timers', timer.name)}/run`, 'Run now', { label: `Run now: ${timer.name}` })}</td></tr>`,
  ),
  { none: 'No timers.' },
)}`,
  })
}

function every(periodMs: number | null): string {
  if (periodMs === null) return 'when there is work'
  if (periodMs < 60_000) return `every ${periodMs / 1000} seconds`
  return periodMs === 60_000
    ? 'every minute'
    : periodMs < 3_600_000
      ? `every ${periodMs / 60_000} minutes`
      : 'every hour'
}

import type { Static } from 'typebox'
import type { Runner, RunnerList } from '../../../delivery/runners/operator.ts'
import { RUNNER_TIMES } from '../../../delivery/runners/registry.ts'
import { type Mood, state } from '../../../platform/pages/face/states.ts'
import type { Page } from '../../../platform/pages/frame.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../../action.ts'
import { button, confirmedButton, heading, sentenceCase } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { relativeTime } from '../../time.ts'
import { operatorPage, operatorPath } from '../frame.ts'

const LIST = operatorPath('runners')
const Change = Type.Object({ draining: Type.String() })

/** TABLE Colors of states. */
const LOOKS: Record<Runner['state'], Mood> = { active: 'good', draining: 'warn', removed: 'idle' }

export const runnerScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showRunners',
    calls: ['operatorListRunners'],
    run: (ctx) => showRunners(ctx),
  }),
  action<typeof Change>({
    path: `${LIST}/:id/drain`,
    name: 'consoleDrainRunner',
    form: Change,
    calls: 'operatorUpdateRunner',
    renderCalls: ['operatorListRunners'],
    request: ({ params, form }) => ({ params: { runner: params.id! }, body: { draining: form.draining === 'true' } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showRunners(ctx, error),
  }),
  action({
    path: `${LIST}/:id/remove`,
    name: 'consoleRemoveRunner',
    calls: 'operatorDeleteRunner',
    renderCalls: ['operatorListRunners'],
    request: ({ params }) => ({ params: { runner: params.id! } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showRunners(ctx, error),
  }),
]

async function showRunners(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  const { runners } = await ctx.callRoute<Static<typeof RunnerList>>('operatorListRunners')
  return operatorPage(ctx, 'runners', {
    title: 'Runners',
    body: html`${heading('Runners')}
${formErrorNotice(error)}
<p class="soft">They build deployments from source. A drained runner finishes what it builds and gets nothing more.</p>
${dataTable(
  'Runners',
  ['Machine', 'State', 'Builds', 'Version', 'Last seen', 'Actions'],
  runners.map(
    (runner) => html`<tr><td class="any">${runner.hostname}<br><code class="small">${runner.id}</code></td>
<td>${stateOf(runner, ctx.now)}</td><td>${runner.builds}</td><td>${runner.version}</td>
<td>${relativeTime(runner.lastSeenAt, ctx.now)}</td><td class="act">${runner.state !== 'removed' && actionsOf(ctx, runner)}</td></tr>`,
  ),
  {
    none: 'No runner has asked for a build. On a laptop the service starts one where a sandbox starts, which Health checks. Elsewhere, run berth runner.',
  },
)}`,
  })
}

/** A runner that ended says so to no one: it only asks for nothing more. */
function stateOf({ state: now, builds, lastSeenAt }: Runner, at: number): Html {
  const isGone = builds === 0 && lastSeenAt < at - RUNNER_TIMES.goneMs
  if (isGone && now !== 'removed') return state('idle', 'Offline', 'canceled')
  return state(LOOKS[now], sentenceCase(now))
}

function actionsOf(ctx: ConsoleCtx, { id, hostname, state: now }: Runner): Html {
  const path = operatorPath('runners', id)
  const drains = now === 'active'
  const words = drains ? 'Drain' : 'Resume'
  return html`<span class="line tight one">${button(ctx, `${path}/drain`, words, { label: `${words} the runner on ${hostname}`, fields: { draining: String(drains) } })}
${confirmedButton(ctx, `${path}/remove`, 'Remove', { label: `Remove the runner on ${hostname}`, look: 'small', asks: 'Its builds go back to the queue.' })}</span>`
}

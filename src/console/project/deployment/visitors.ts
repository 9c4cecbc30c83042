/** What visitors of a deployment got in the last day, by the hour, and what its functions did. docs/deploying-sites.md: Usage. */
import type { Static } from 'typebox'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { DeploymentUsage } from '../../../projects/deployments/usage.ts'
import { columnChart, sparkline } from '../../charts.ts'
import { dataTable } from '../../fields.ts'
import { bytes } from '../../operator/frame.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** The sum says as much as a chart of fewer hours. */
const FEWEST = 3

type Hour = Static<typeof DeploymentUsage>['usage'][number]
type FunctionUsage = Static<typeof DeploymentUsage>['functions'][number]
/** `hours`: of the last day, also those without a request. */
export type Visitors = { summary: string; hours: readonly { hour: number; requests: number; failed: number }[] }

/** Reads the requests of the last day, and what each function did. Undefined where nothing was counted, as with an upstream. */
export async function readUsage(
  ctx: ConsoleCtx,
  account: OwnAccount,
  id: string,
): Promise<{ visitors: Visitors | undefined; functions: Html | undefined }> {
  const { usage, functions } = await ctx.callRoute<Static<typeof DeploymentUsage>>('getDeploymentUsage', {
    account,
    params: { idOrUrl: id },
  })
  const visitors = usage.length === 0 ? undefined : { summary: summaryOf(usage), hours: hoursOf(usage, ctx.now) }
  return { visitors, functions: functions.length === 0 ? undefined : functionTable(functions) }
}

function summaryOf(usage: readonly Hour[]): string {
  const sum = (count: (hour: Hour) => number) => usage.reduce((all, hour) => all + count(hour), 0)
  const [requests, failed] = [sum((hour) => hour.requests), sum(({ statuses }) => statuses['5xx'])]
  const words = `${requests.toLocaleString('en')} ${requests === 1 ? 'request' : 'requests'}`
  const withFailed = failed === 0 ? words : `${words} (${failed.toLocaleString('en')} failed)`
  return `${withFailed}, ${bytes(sum((hour) => hour.bytes))} sent`
}

/** The last hour may be ahead: a sites server has a clock of its own. */
function hoursOf(usage: readonly Hour[], now: number): Visitors['hours'] {
  const last = Math.max(Math.floor(now / HOUR_MS) * HOUR_MS, usage.at(-1)!.hour)
  const known = new Map(usage.map((one) => [one.hour, one]))
  return Array.from({ length: HOURS }, (_, at) => {
    const hour = last - (HOURS - 1 - at) * HOUR_MS
    const { requests = 0, statuses } = known.get(hour) ?? {}
    return { hour, requests, failed: statuses?.['5xx'] ?? 0 }
  })
}

/** Renders the requests by the hour. Undefined where only few hours had any. */
export function visitorsChart(visitors: Visitors | undefined): Html | undefined {
  if (visitors === undefined || visitors.hours.filter(({ requests }) => requests > 0).length < FEWEST) return undefined
  const columns = visitors.hours.map(({ hour, requests, failed }) => {
    const at = new Date(hour).toISOString()
    return { name: `${at.slice(11, 16)} UTC`, title: at, counts: [requests - failed, failed] }
  })
  const kinds = [
    { words: 'answered', look: 'main' },
    { words: 'failed (5xx)', look: 'bad' },
  ] as const
  return html`<section class="card in stack"><h2>Requests in the last 24 hours</h2>
${columnChart('Requests by hour', kinds, columns, (count) => count.toLocaleString('en'))}</section>`
}

/** Renders the requests in a sentence, with a line by the hour. */
export function visitorsFact({ summary, hours }: Visitors): Html {
  const counts = hours.map(({ requests }) => requests)
  return html`${summary} ${sparkline(`By hour, at most ${Math.max(...counts).toLocaleString('en')}`, counts)}`
}

function functionTable(functions: readonly FunctionUsage[]): Html {
  const rows = functions.map(({ name, invocations, errors, ms }) => {
    const numbers = [invocations, errors, Math.round(ms / Math.max(1, invocations)), ms]
    const cells = numbers.map((number) => html`<td class="num">${number.toLocaleString('en')}</td>`)
    return html`<tr><td class="any">${name === '' ? 'Others' : html`<code>${name}</code>`}</td>${cells}</tr>`
  })
  const columns = ['Invocations', 'Errors', 'Average ms', 'Total ms']
  return html`<h2>Functions in the last 24 hours</h2>
${dataTable('Functions in the last 24 hours', ['Function', ...columns], rows, { numbers: columns })}`
}

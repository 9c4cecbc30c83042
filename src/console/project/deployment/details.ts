/** The facts of a deployment, and what its visitors got. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { openedHost } from '../../../model/addresses.ts'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import type { DeploymentUsage } from '../../../projects/deployments/usage.ts'
import { sentenceCase } from '../../controls.ts'
import { copyable, dataTable } from '../../fields.ts'
import { canInAccount, deploymentPath } from '../../frame.ts'
import { bytes } from '../../operator/frame.ts'
import { duration, relativeTime } from '../../time.ts'
import type { BuildTimes } from '../build-log.ts'

/** Renders the facts of a deployment, with the pages about it. */
export function detailsCard(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
  deployment: Deployment,
  visitors: string | undefined,
  { queued, ran }: BuildTimes,
): Html {
  const to = (page: string) => deploymentPath(account, project, deployment.id, page)
  const removes = canInAccount(account, 'project:write', 'deployment:write')
  return html`<section class="card in stack"><h2>Details</h2><dl class="facts">
<dt>Environment</dt><dd>${sentenceCase(deployment.target ?? 'preview')}</dd>
${deployment.gitBranch && html`<dt>Branch</dt><dd>${deployment.gitBranch}</dd>`}
<dt>URL</dt><dd><a href="${siteAddress(ctx, deployment.url)}" rel="noreferrer">${deployment.url}</a></dd>
<dt>Deployment ID</dt><dd>${copyable(deployment.id, 'id')}</dd>
<dt>Created</dt><dd>${relativeTime(deployment.createdAt, ctx.now)}</dd>
${queued !== undefined && html`<dt>In the queue</dt><dd>${duration(queued)}</dd>`}
${ran !== undefined && html`<dt>Build</dt><dd>${duration(ran)}</dd>`}
${deployment.ready !== undefined && html`<dt>Ready</dt><dd>${relativeTime(deployment.ready, ctx.now)}</dd>`}
${visitors && html`<dt>Last 24 hours</dt><dd>${visitors}</dd>`}
</dl>
<p class="line"><a class="btn" href="${to('files')}">${icon('folder')}Output</a><a class="btn" href="${to('export')}" data-turbo="false">${icon('download')}Inspect as JSON</a>${removes && html`<a class="btn bad" href="${to('remove')}">${icon('trash-2')}Remove…</a>`}</p></section>`
}

/** Describes the requests of the last day, if there are any, and lists its functions. Deployments with an upstream are not counted. */
export async function readUsage(
  ctx: ConsoleCtx,
  account: OwnAccount,
  id: string,
): Promise<{ visitors: string | undefined; functions: Html | undefined }> {
  const { usage, functions } = await ctx.callRoute<Static<typeof DeploymentUsage>>('getDeploymentUsage', {
    account,
    params: { idOrUrl: id },
  })
  return { visitors: visitorsOf(usage), functions: functions.length === 0 ? undefined : functionTable(functions) }
}

type Usage = Static<typeof DeploymentUsage>

function functionTable(functions: Usage['functions']): Html {
  const rows = functions.map(({ name, invocations, errors, ms }) => {
    const numbers = [invocations, errors, Math.round(ms / Math.max(1, invocations)), ms]
    const cells = numbers.map((number) => html`<td class="num">${number.toLocaleString('en')}</td>`)
    return html`<tr><td class="any">${name === '' ? 'Others' : html`<code>${name}</code>`}</td>${cells}</tr>`
  })
  const columns = ['Invocations', 'Errors', 'Average ms', 'Total ms']
  return html`<h2>Functions in the last 24 hours</h2>
${dataTable('Functions in the last 24 hours', ['Function', ...columns], rows, { numbers: columns })}`
}

function visitorsOf(usage: Usage['usage']): string | undefined {
  if (usage.length === 0) return undefined
  const sum = (count: (hour: (typeof usage)[number]) => number) => usage.reduce((all, hour) => all + count(hour), 0)
  const [requests, failed] = [sum((hour) => hour.requests), sum(({ statuses }) => statuses['5xx'])]
  const words = `${requests.toLocaleString('en')} ${requests === 1 ? 'request' : 'requests'}`
  const withFailed = failed === 0 ? words : `${words} (${failed.toLocaleString('en')} failed)`
  return `${withFailed}, ${bytes(sum((hour) => hour.bytes))} sent`
}

/** Returns the URL of a host. Hosts have a port only on a local machine, where browsers would reject the certificate. */
export function siteAddress({ deps }: ConsoleCtx, host: string): string {
  const opened = openedHost(host, deps.config)
  return `${opened.includes(':') ? 'http' : 'https'}://${opened}`
}

/** The facts of a deployment. docs/console.md: Project pages. */
import { openedHost } from '../../../model/addresses.ts'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import { sentenceCase } from '../../controls.ts'
import { copyable } from '../../fields.ts'
import { canInAccount, deploymentPath } from '../../frame.ts'
import { duration, relativeTime } from '../../time.ts'
import type { BuildTimes } from '../build-log.ts'
import type { Visitors } from './visitors.ts'

/** Renders the facts of a deployment, with the pages about it. */
export function detailsCard(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
  deployment: Deployment,
  visitors: Visitors | undefined,
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
${visitors && html`<dt>Last 24 hours</dt><dd>${visitors.summary}</dd>`}
</dl>
<p class="line"><a class="btn" href="${to('files')}">${icon('folder')}Output</a><a class="btn" href="${to('export')}" data-turbo="false">${icon('download')}Inspect as JSON</a>${removes && html`<a class="btn bad" href="${to('remove')}">${icon('trash-2')}Remove…</a>`}</p></section>`
}

/** Returns the URL of a host. Hosts have a port only on a local machine, where browsers would reject the certificate. */
export function siteAddress({ deps }: ConsoleCtx, host: string): string {
  const opened = openedHost(host, deps.config)
  return `${opened.includes(':') ? 'http' : 'https'}://${opened}`
}

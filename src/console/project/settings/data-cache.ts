import type { ProjectCacheSize } from '../../../delivery/data-cache/sizes.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, csrfFields } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { DATA_BUDGET } from '../../../sites/data-cache/entries.ts'
import { cardTitle, confirmedButton, countOf } from '../../controls.ts'
import { bytes } from '../../operator/frame.ts'
import { relativeTime } from '../../time.ts'

/** TABLE Environments of a size: the name on the page. Others are custom environments. */
const NAMES: Readonly<Record<string, string>> = { production: 'Production', preview: 'Preview' }

/** Renders the switch of the data cache, and what sites servers keep in it. */
export function dataCacheForm(
  ctx: ConsoleCtx,
  path: string,
  { dataCache: { userDisabled } }: Project,
  size: ProjectCacheSize,
): Html {
  return html`<form class="card in stack form" method="post" action="${path}/data-cache">${cardTitle('Data cache', 'Keeps data that functions fetch, until it expires or is purged.')}
${csrfFields(ctx)}
<p><strong>${userDisabled ? 'Disabled' : 'Enabled'}</strong></p>
<p class="soft small">${cacheSize(size, ctx.now)}</p>
<input type="hidden" name="disabled" value="${userDisabled ? 'no' : 'yes'}">
<p class="line"><button class="btn">${userDisabled ? 'Enable' : 'Disable'}</button></p>
</form>`
}

/** Renders the button that deletes what sites servers keep of the project. */
export function purgeCard(ctx: ConsoleCtx, path: string): Html {
  return html`<section class="card in stack form">${cardTitle('Purge caches', 'Deletes cached pages, answers of functions and cached data of all deployments. The next visitors wait until each is made again.')}
<div>${confirmedButton(ctx, `${path}/purge`, 'Purge caches')}</div></section>`
}

/** Renders how much sites servers keep, and the limit. */
export function cacheSize(size: ProjectCacheSize, now: number): Html {
  const { servers, entries, reportedAt, environments } = size
  const limit = html`An account may have ${bytes(DATA_BUDGET.ofAccount.bytes)} on each sites server.`
  if (reportedAt === null) return html`Empty: no sites server reports data of this project. ${limit}`
  const named = Map.groupBy(environments, ({ environment }) => NAMES[environment] ?? 'Custom environments')
  const parts = [...named].map(([name, own]) => `${name} ${bytes(own.reduce((sum, one) => sum + one.bytes, 0))}`)
  return html`${bytes(size.bytes)} in ${entries} ${entries === 1 ? 'entry' : 'entries'}, on ${countOf(servers, 'sites server')}, reported ${relativeTime(reportedAt, now)}. ${parts.length > 1 && `${parts.join(', ')}. `}${limit}`
}

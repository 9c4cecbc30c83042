/** The log of a build on the page of its deployment, why the build failed, and its actions. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import type { BuildEvents } from '../../delivery/builds/events.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, csrfFields } from '../../platform/pages/screen.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import { canInAccount, deploymentPath } from '../frame.ts'

/** Newest lines on the page. */
const LINES = 500
/** Color and style sequences, which only a terminal shows. */
const STYLES = /\x1b\[[0-9;]*m/g

/** Without script, the page reloads while a build runs. */
export const RELOAD_SECONDS = 2

/** Returns whether the build of a deployment has not ended. */
export function isRunning({ readyState }: Pick<Deployment, 'readyState'>): boolean {
  return ['QUEUED', 'INITIALIZING', 'BUILDING'].includes(readyState)
}

/** Renders why a build failed, with a link to the line that says it; undefined for a deployment that did not fail here. */
export function failureNotice({ readyState, errorCode, errorMessage }: Deployment): Html | undefined {
  if (readyState !== 'ERROR' || !errorMessage) return undefined
  return html`<section class="notice bad" aria-labelledby="why"><h2 id="why">Build failed</h2>
<pre>${errorMessage.replaceAll(STYLES, '')}</pre>
<p class="soft small">${errorCode} · <a href="#last">Go to the end of the log</a></p></section>`
}

/** Renders the newest lines of a log. Undefined for a deployment that was not built here. */
export async function buildLog(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
  one: Deployment,
): Promise<Html | undefined> {
  const events = await ctx.ask<Static<typeof BuildEvents>>('getDeploymentEvents', {
    account,
    params: { idOrUrl: one.id },
    query: { direction: 'backward', limit: String(LINES) },
  })
  if (events.some(({ type }) => type === 'deployment-state')) return undefined
  const lines = events.toReversed()
  const running = isRunning(one)
  const hidden = Number(lines[0]?.serial ?? 0)
  const path = deploymentPath(account, project, one.id)
  return html`<section class="card in stack" aria-labelledby="log"><h2 id="log">Build log</h2>
<turbo-frame id="build-log"${running && html` src="${path}" complete data-reload`}>
${hidden > 0 && html`<p class="soft small">The ${LINES} newest lines. All of them: <code>vercel inspect ${one.url} --logs</code></p>`}
${lines.length === 0 ? html`<p class="soft">${running ? 'Waiting for the first line.' : 'No lines.'}</p>` : html`<ol class="log" start="${String(hidden + 1)}">${lines.map(lineOf)}</ol>`}
<span id="last"></span></turbo-frame></section>`
}

function lineOf({ serial, type, date, text }: Static<typeof BuildEvents>[number]): Html {
  const at = new Date(date).toISOString()
  const number = Number(serial) + 1
  return html`<li id="L${String(number)}" class="${type}"><a href="#L${String(number)}" title="${at}">${String(number)}</a><code>${text.replaceAll(STYLES, '')}</code></li>`
}

/** Renders Cancel while a build runs, and Redeploy once it has ended. Undefined where the caller may not. */
export function buildActions(ctx: ConsoleCtx, account: OwnAccount, project: string, one: Deployment): Html | undefined {
  if (!canInAccount(account, 'project:write') || !canInAccount(account, 'deployment:write')) return undefined
  const [verb, words] = isRunning(one) ? ['cancel', 'Cancel'] : ['redeploy', 'Redeploy']
  return html`<form method="post" action="${deploymentPath(account, project, one.id, verb)}">${csrfFields(ctx)}<button class="btn">${words}</button></form>`
}

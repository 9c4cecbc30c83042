/** The overview of a project: what visitors get and since when, its latest deployments, and pausing it. */
import type { OwnAccount } from '../../pages/acting.ts'
import { type Html, html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput, tokenField } from '../../pages/screen.ts'
import type { Project } from '../../projects/schema.ts'
import { action, faultOf, type Refused } from '../action.ts'
import { accountIn, projectPath, showPage } from '../frame.ts'
import { ago } from '../time.ts'
import { state } from './list.ts'

const PROJECT = '/console/t/:slug/projects/:name'

export const projectScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: PROJECT, name: 'showProject', asks: ['getProject'], run: showProject }),
  ...(['pause', 'unpause'] as const).map((verb) =>
    action({
      path: `${PROJECT}/${verb}`,
      name: `console-${verb}-project`,
      asks: `${verb}Project`,
      shows: ['getProject'],
      wish: ({ params }) => ({ params: { projectId: params.name! } }),
      to: (_, { params }) => projectPath({ slug: params.slug! }, params.name!),
      again: showProject,
    }),
  ),
]

async function showProject(ctx: ConsoleCtx, { params }: ScreenInput, refused?: Refused) {
  const account = await accountIn(ctx, params)
  const project = await ctx.ask<Project>('getProject', { account, params: { idOrName: params.name! } })
  return showPage(
    ctx,
    { account, project: project.name, tab: '' },
    {
      title: 'Overview',
      body: html`<div class="top"><h1>${project.name}</h1>${pauseForm(ctx, account, project)}</div>
${faultOf(refused)}
<section class="card"><h2>What visitors get</h2>
<dl class="facts">
<dt>State</dt><dd>${state(project)}</dd>
<dt>Production</dt><dd>${production(project, ctx.now)}</dd>
<dt>Framework</dt><dd>${project.framework ?? 'none'}</dd>
<dt>Project id</dt><dd><code>${project.id}</code></dd>
<dt>Made</dt><dd>${ago(project.createdAt, ctx.now)}</dd>
</dl></section>
${latest(project, ctx.now)}`,
    },
  )
}

function pauseForm(ctx: ConsoleCtx, account: OwnAccount, { name, paused }: Project): Html {
  const verb = paused ? 'unpause' : 'pause'
  return html`<form method="post" action="${projectPath(account, name, verb)}">${tokenField(ctx)}
<button class="${paused ? '' : 'quiet'}">${paused ? 'Bring it back online' : 'Pause the project'}</button></form>`
}

function production({ targets }: Project, now: number): Html {
  const live = targets?.production
  if (live === undefined || live === null) return html`No deployment is in production yet.`
  const names = [...new Set([...live.alias, live.url])]
  return html`${names.map((host) => html`<a href="https://${host}">${host}</a> `)}<br>
<span class="soft">Deployment <code>${live.id}</code>, made ${ago(live.createdAt, now)}</span>`
}

function latest({ latestDeployments = [] }: Project, now: number): Html {
  if (latestDeployments.length === 0)
    return html`<section class="card empty"><h2>No deployment yet</h2>
<p>Your build system registers deployments: <a href="/docs?search=operatorCreateDeployment">how it does that</a>.</p></section>`
  return html`<h2>Latest deployments</h2>
<div class="sheet"><table><thead><tr><th>State</th><th>Address</th><th>Target</th><th>Made</th></tr></thead><tbody>
${latestDeployments.map(
  (
    one,
  ) => html`<tr><td><span class="state${one.readyState === 'READY' ? ' good' : one.readyState === 'ERROR' ? ' bad' : ''}">${one.readyState}</span></td>
<td><a href="https://${one.url}">${one.url}</a></td><td>${one.target ?? 'preview'}</td><td>${ago(one.createdAt, now)}</td></tr>`,
)}
</tbody></table></div>`
}

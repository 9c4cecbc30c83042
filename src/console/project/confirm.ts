/** The questions before production moves: promote, roll back, pause. Each is a page, and names what moves. docs/console.md: Project pages. */
import { note } from '../../platform/pages/face/notes.ts'
import { glyph } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { countOf } from '../controls.ts'
import { consolePage, deploymentPath, findAccountOfPath, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { commitAuthor, commitRefs, titleOf } from './commit.ts'
import { DEPLOYMENT_READ, readDeployment } from './deployment/of-project.ts'

const PROJECT = '/console/t/:slug/projects/:name'

/** TABLE The questions about a deployment. */
const MOVES = {
  promote: {
    title: 'Promote to production?',
    verb: 'Promote',
    look: 'primary',
    follows: 'New production deployments go live automatically, also where a rollback had stopped that.',
  },
  rollback: {
    title: 'Roll back production?',
    verb: 'Roll back',
    look: 'danger',
    follows: 'New deployments will not go live until you promote one.',
  },
} as const
type Move = keyof typeof MOVES

export const confirmScreens: readonly Screen[] = [
  ...(Object.keys(MOVES) as Move[]).map((move) =>
    consoleScreen({
      method: 'GET',
      path: `${PROJECT}/deployments/:id/${move}`,
      name: `confirm-${move}`,
      calls: DEPLOYMENT_READ,
      run: (ctx, input) => askMove(ctx, input, move),
    }),
  ),
  consoleScreen({
    method: 'GET',
    path: `${PROJECT}/pause`,
    name: 'confirm-pause',
    calls: ['getProject'],
    run: askPause,
  }),
]

async function askMove(ctx: ConsoleCtx, { params, url }: ScreenInput, move: Move): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const { project, one: to } = await readDeployment(ctx, account, params)
  const live = project.targets?.production
  const from = live && live.id !== to.id ? await readLive(ctx, account, live.id) : undefined
  const domains = live?.alias ?? []
  const { title, verb, look, follows } = MOVES[move]
  const back = deploymentPath(account, project.name, to.id)
  return consolePage(
    ctx,
    { account, project: project.name, tab: 'deployments' },
    {
      title,
      within: [[titleOf(to), back]],
      body: sheet(ctx, {
        title,
        about: html`${domains.length === 0 ? 'No domain is connected yet.' : `Moves ${countOf(domains.length, 'domain')}.`} Nothing is built. Visitors get it within seconds.`,
        moves: html`<div class="berths">
${from && html`<div>${mooring(from, 'From, live now', ctx.now)}</div>`}
<div>${mooring(to, 'To', ctx.now)}
${domains.length > 0 && html`<ul class="lines">${domains.map((domain) => html`<li><span class="medium any">${domain}</span></li>`)}</ul>`}</div></div>`,
        follows: note('warn', follows),
        action: url,
        back,
        button: html`<button class="btn ${look}">${verb}</button>`,
      }),
    },
  )
}

async function askPause(ctx: ConsoleCtx, { params, url }: ScreenInput): Promise<Page> {
  const { account, project } = await findPlace(ctx, params.slug!, params.name!)
  const domains = project.targets?.production?.alias ?? []
  const back = projectPath(account, project.name)
  return consolePage(
    ctx,
    { account, project: project.name, tab: '' },
    {
      title: 'Pause project',
      body: sheet(ctx, {
        title: `Pause ${project.name}?`,
        about: html`Visitors see a “paused” page on ${domains.length === 0 ? 'its domains' : countOf(domains.length, 'domain')} until you resume.`,
        moves:
          domains.length > 0 &&
          html`<div class="berths"><div><ul class="lines loose">${domains.map((domain) => html`<li><span class="medium any">${domain}</span></li>`)}</ul></div></div>`,
        follows: note(
          'warn',
          'While it is paused nothing can be promoted. Resuming turns automatic promotion on again.',
        ),
        action: url,
        back,
        button: html`<button class="btn danger">Pause project</button>`,
      }),
    },
  )
}

async function findPlace(ctx: ConsoleCtx, slug: string, name: string) {
  const account = await findAccountOfPath(ctx, { slug })
  return { account, project: await ctx.callRoute<Project>('getProject', { account, params: { idOrName: name } }) }
}

function readLive(ctx: ConsoleCtx, account: OwnAccount, id: string): Promise<Deployment> {
  return ctx.callRoute<Deployment>('getDeployment', { account, params: { idOrUrl: id } })
}

type Sheet = {
  title: string
  about: Html
  moves: Html | false
  follows: Html
  action: string
  back: string
  button: Html
}

/** Renders a question with what moves or goes, what follows, and its button. */
export function sheet(ctx: ConsoleCtx, { title, about, moves, follows, action, back, button }: Sheet): Html {
  return html`<form class="card sheet form" method="post" action="${action}">${csrfFields(ctx)}
<div class="in"><div><h1>${title}</h1><p class="soft">${about}</p></div>
${moves}
${follows}</div>
<footer><a class="btn" href="${back}">Cancel</a>${button}</footer></form>`
}

/** Renders a deployment, its author and its commit. */
export function mooring(one: Deployment, label: string, now: number): Html {
  const live = label !== 'To'
  return html`<div class="moor"><span class="moor-ring">${live ? glyph('good', 'live') : glyph('idle')}</span><div><span class="small soft">${label}</span>
<div class="medium any">${titleOf(one)}</div>
<div class="line tight small soft">${commitAuthor(one)}${commitRefs(one, one.gitBranch)}${relativeTime(one.createdAt, now)}</div></div></div>`
}

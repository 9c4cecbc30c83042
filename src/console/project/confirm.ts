/** The questions before production moves: promote, roll back, redeploy, pause. Each is a page, and names what moves. docs/console.md: Project pages. */
import type { Static } from 'typebox'
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
import type { DomainList } from '../../projects/domains/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { countOf } from '../controls.ts'
import { deploymentPath, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { commitAuthor, commitRefs, titleOf } from './commit.ts'
import { DEPLOYMENT_READ, readDeployment } from './deployment/of-project.ts'

const PROJECT = '/console/t/:slug/projects/:name'
/** Domains that are counted, and those that are named. */
const COUNTED = 100
const NAMED = 20

/** TABLE The questions about a deployment. */
const MOVES = {
  promote: { title: 'Promote to production?', verb: 'Promote', look: 'primary', follows: afterPromote },
  rollback: {
    title: 'Roll back production?',
    verb: 'Roll back',
    look: 'danger',
    follows: async () => ['warn', 'New deployments will not go live until you promote one.'] as const,
  },
} as const
type Move = keyof typeof MOVES

export const confirmScreens: readonly Screen[] = [
  ...(Object.keys(MOVES) as Move[]).map((move) =>
    consoleScreen({
      method: 'GET',
      path: `${PROJECT}/deployments/:id/${move}`,
      name: `confirm-${move}`,
      calls: [...DEPLOYMENT_READ, 'getProjectDomains'],
      run: (ctx, input) => askMove(ctx, input, move),
    }),
  ),
  consoleScreen({
    method: 'GET',
    path: `${PROJECT}/deployments/:id/redeploy`,
    name: 'confirm-redeploy',
    calls: DEPLOYMENT_READ,
    run: askRedeploy,
  }),
  consoleScreen({
    method: 'GET',
    path: `${PROJECT}/pause`,
    name: 'confirm-pause',
    calls: ['getProject', 'getProjectDomains'],
    run: askPause,
  }),
]

async function askMove(ctx: ConsoleCtx, { params, url }: ScreenInput, move: Move): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const { project, deployment: to } = await readDeployment(ctx, account, params)
  const live = project.targets?.production
  const from = live && live.id !== to.id ? await readLive(ctx, account, live.id) : undefined
  const domains = await productionDomains(ctx, account, project)
  const { title, verb, look, follows } = MOVES[move]
  const back = deploymentPath(account, project.name, to.id)
  return projectPage(ctx, account, project.name, 'deployments', {
    title,
    within: [[titleOf(to), back]],
    body: sheet(ctx, {
      title,
      about: html`${domains.names.length === 0 ? 'No domain is connected yet.' : `Moves ${domains.count}.`} Nothing is built. Visitors get it within seconds.`,
      moves: html`<div class="berths">
${from && html`<div>${mooring(from, 'From, live now', ctx.now)}</div>`}
<div>${mooring(to, 'To', ctx.now, { isLive: true })}
${domainLines(domains, 'lines')}</div></div>`,
      follows: note(...(await follows(ctx, project))),
      action: url,
      back,
      button: html`<button class="btn ${look}">${verb}</button>`,
    }),
  })
}

/** A redeploy is a preview unless its target is said, so the form of a production deployment says it. */
async function askRedeploy(ctx: ConsoleCtx, { params, url }: ScreenInput): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const { project, deployment } = await readDeployment(ctx, account, params)
  const isProduction = deployment.target === 'production'
  const title = isProduction ? 'Redeploy to production?' : 'Redeploy?'
  const back = deploymentPath(account, project.name, deployment.id)
  return projectPage(ctx, account, project.name, 'deployments', {
    title,
    within: [[titleOf(deployment), back]],
    body: sheet(ctx, {
      title,
      about: html`Deploys the same source again, with the settings and variables that the project has now.`,
      moves: html`<div class="berths"><div>${mooring(deployment, 'Again', ctx.now)}</div></div>`,
      follows: html`${isProduction && html`<input type="hidden" name="target" value="production">`}${afterRedeploy(project, isProduction)}`,
      action: url,
      back,
      button: html`<button class="btn primary">Redeploy</button>`,
    }),
  })
}

function afterRedeploy({ autoAssignCustomDomains, paused }: Project, isProduction: boolean): Html {
  if (!isProduction) return note('info', 'It gets a URL of its own. Production stays as it is.')
  if (paused || !autoAssignCustomDomains) return note('info', 'It does not go live until you promote it.')
  return note('warn', 'It goes live as soon as it is ready.')
}

/** Says what new deployments do after a promote, which turns on again what a rollback turned off, and nothing else. */
async function afterPromote(
  { db }: ConsoleCtx,
  { id, autoAssignCustomDomains }: Project,
): Promise<readonly ['info' | 'warn', string]> {
  if (autoAssignCustomDomains) return ['info', 'New production deployments go live automatically.']
  const row = await db.selectFrom('project').select('auto_assign_off_at').where('id', '=', id).executeTakeFirst()
  return row?.auto_assign_off_at == null
    ? [
        'warn',
        'New production deployments go on waiting until you promote them: automatic promotion is off in Settings.',
      ]
    : ['info', 'New production deployments go live automatically again, which the rollback had stopped.']
}

type Domains = { names: readonly string[]; count: string }

/** Reads the domains that production serves, or gets with the next promote, and its generated addresses. */
async function productionDomains(ctx: ConsoleCtx, account: OwnAccount, project: Project): Promise<Domains> {
  const { domains, pagination } = await ctx.callRoute<Static<typeof DomainList>>('getProjectDomains', {
    account,
    params: { idOrName: project.id },
    query: { production: 'true', verified: 'true', redirects: 'false', limit: String(COUNTED) },
  })
  const names = [...domains.map(({ name }) => name), ...(project.targets?.production?.automaticAliases ?? [])]
  return { names, count: pagination.next === null ? countOf(names.length, 'domain') : `${COUNTED} domains or more` }
}

function domainLines({ names }: Domains, look: string): Html | undefined {
  if (names.length === 0) return undefined
  const others = names.length - NAMED
  return html`<ul class="${look}">${names.slice(0, NAMED).map((name) => html`<li><span class="medium any">${name}</span></li>`)}${others > 0 && html`<li><span class="soft">and ${others} more</span></li>`}</ul>`
}

async function askPause(ctx: ConsoleCtx, { params, url }: ScreenInput): Promise<Page> {
  const { account, project } = await findPlace(ctx, params.slug!, params.name!)
  const domains = await productionDomains(ctx, account, project)
  const back = projectPath(account, project.name)
  return projectPage(ctx, account, project.name, '', {
    title: 'Pause project',
    body: sheet(ctx, {
      title: `Pause ${project.name}?`,
      about: html`Visitors see a “paused” page on ${domains.names.length === 0 ? 'its domains' : domains.count} until you resume.`,
      moves:
        domains.names.length > 0 && html`<div class="berths"><div>${domainLines(domains, 'lines loose')}</div></div>`,
      follows: note('warn', 'While it is paused nothing can be promoted. Resuming turns automatic promotion on again.'),
      action: url,
      back,
      button: html`<button class="btn danger">Pause project</button>`,
    }),
  })
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

type Moored = Pick<Deployment, 'meta' | 'url' | 'createdAt'> & { gitBranch?: string | null }

/** Renders a deployment, its author and its commit. `to`: its page. */
export function mooring(
  deployment: Moored,
  label: string,
  now: number,
  { isLive = false, to }: { isLive?: boolean; to?: string } = {},
): Html {
  const title = titleOf(deployment)
  return html`<div class="moor"><span class="moor-ring">${isLive ? glyph('good', 'live') : glyph('idle')}</span><div><span class="small soft">${label}</span>
<div class="medium any">${to === undefined ? title : html`<a href="${to}">${title}</a>`}</div>
<div class="line tight small soft">${commitAuthor(deployment)}${commitRefs(deployment, deployment.gitBranch)}${relativeTime(deployment.createdAt, now)}</div></div></div>`
}

/** Removing the chosen deployments of a list, after a page that says which go and which stay. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Refusal, refuse } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { countOf } from '../../controls.ts'
import { canInAccount, deploymentPath, findAccountOfPath, projectPage, projectPath, unlessGone } from '../../frame.ts'
import { doneMessage } from '../../names/done-messages.ts'
import { userMessage } from '../../names/error-messages.ts'
import { mustBeShown } from '../../shell/shown-project.ts'
import { relativeTime } from '../../time.ts'
import { commitRefs, titleOf } from '../commit.ts'
import { sheet } from '../confirm.ts'
import { DEPLOYMENTS_PATH, PAGE } from '../deployments.ts'
import { DEPLOYMENT_READ } from './of-project.ts'

const PATH = `${DEPLOYMENTS_PATH}/remove`
const NAME = 'console-remove-deployments'
const Chosen = Type.Object({ id: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: PAGE })) })
type Chosen = Static<typeof Chosen>

/** `deployment`: undefined where the project has none. `reason`: why it stays. `isGone`: no project has it. */
type Judged = { id: string; deployment?: Deployment; reason: string | undefined; isGone?: true }
type Place = { account: OwnAccount; project: Project }

export const chosenRemovalScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'confirm-remove-deployments',
    query: Chosen,
    calls: DEPLOYMENT_READ,
    run: askRemovals,
  }),
  consoleScreen({
    method: 'POST',
    path: PATH,
    name: NAME,
    form: Chosen,
    savesForm: true,
    calls: ['deleteDeployment', ...DEPLOYMENT_READ],
    run: removeChosen,
  }),
]

async function findPlace(ctx: ConsoleCtx, { params }: ScreenInput): Promise<Place> {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  return { account, project }
}

/** What serves production or has a domain is removed on its own page alone, which says what that means for visitors. */
async function judge(ctx: ConsoleCtx, { account, project }: Place, id: string): Promise<Judged> {
  const deployment = await unlessGone(ctx.callRoute<Deployment>('getDeployment', { account, params: { idOrUrl: id } }))
  if (deployment?.projectId !== project.id)
    return { id, reason: 'The project has no such deployment.', ...(deployment === undefined && { isGone: true }) }
  const { alias, automaticAliases = [] } = deployment
  const domain = alias.find((name) => !automaticAliases.includes(name))
  const isLive = deployment.id === project.targets.production?.id
  const reason = isLive ? 'It serves production.' : domain && `${domain} points to it.`
  return { id, deployment, reason: reason && `${reason} Remove it on its own page.` }
}

async function askRemovals(ctx: ConsoleCtx, input: ScreenInput<Chosen>) {
  const place = await findPlace(ctx, input)
  return removalPage(ctx, place, await judgeAll(ctx, place, input.query))
}

/** A form that is shown again was not validated, and may have more. */
async function judgeAll(ctx: ConsoleCtx, place: Place, { id: ids = [] }: Chosen): Promise<Judged[]> {
  const judged: Judged[] = []
  for (const id of new Set(ids.slice(0, PAGE))) judged.push(await judge(ctx, place, id))
  return judged
}

/** `above`: what happened before. */
function removalPage(ctx: ConsoleCtx, { account, project }: Place, judged: readonly Judged[], above?: Html) {
  const going = judged.flatMap(({ deployment, reason }) => (deployment && !reason ? [deployment] : []))
  const back = projectPath(account, project.name, 'deployments')
  const staying = stays({ account, project }, judged)
  const title = `Remove ${countOf(going.length, 'deployment')}?`
  const none = html`<h1>Remove deployments</h1>${judged.length === 0 ? note('info', 'Choose deployments in the list first.') : staying}
<p class="line"><a class="btn" href="${back}">All deployments</a></p>`
  const question = () =>
    sheet(ctx, {
      title,
      about: html`Their URLs, their build logs and their figures go with them. You cannot undo this.`,
      moves: html`<div class="berths">${going.map((deployment) => html`<div>${described(deployment, ctx.now)}<input type="hidden" name="id" value="${deployment.id}"></div>`)}</div>`,
      follows: html`${staying}${note('warn', 'The address of a branch moves to its newest ready deployment.')}`,
      action: `${back}/remove`,
      back,
      button: html`<button class="btn danger">Remove ${countOf(going.length, 'deployment')}</button>`,
    })
  return projectPage(ctx, account, project.name, 'deployments', {
    title: going.length === 0 ? 'Remove deployments' : title,
    within: [],
    body: html`${above}${going.length === 0 ? none : question()}`,
  })
}

function described(deployment: Deployment, now: number): Html {
  return html`<div class="medium any">${titleOf(deployment)}</div>
<div class="line tight small soft">${commitRefs(deployment, deployment.gitBranch)}${relativeTime(deployment.createdAt, now)}</div>`
}

/** Lists what stays, with the reasons. */
function stays({ account, project }: Place, judged: readonly Judged[]): Html | undefined {
  const kept = judged.filter(({ reason }) => reason !== undefined)
  if (kept.length === 0) return undefined
  const named = ({ id, deployment }: Judged) =>
    deployment
      ? html`<a href="${deploymentPath(account, project.name, deployment.id)}">${titleOf(deployment)}</a>`
      : html`<code>${id}</code>`
  return note(
    'info',
    html`${countOf(kept.length, 'deployment')} ${kept.length === 1 ? 'stays' : 'stay'}:<ul>${kept.map((one) => html`<li>${named(one)}: ${one.reason}</li>`)}</ul>`,
  )
}

/** Removes one after the other, each as the page of a deployment does. What is refused stays, and the page says why. */
async function removeChosen(ctx: ConsoleCtx, input: ScreenInput<unknown, Chosen>) {
  const place = await findPlace(ctx, input)
  const { account, project } = place
  await mustBeShown(ctx, account, input)
  if (!canInAccount(account, 'project:write', 'deployment:write')) refuse('missing_permission')
  if (input.error !== undefined) {
    const known = input.error.key === 'form_not_sent' ? await judgeAll(ctx, place, input.form) : []
    const error = note('bad', userMessage(input.error.message), { role: 'alert', id: 'fault' })
    return { ...(await removalPage(ctx, place, known, error)), status: input.error.status }
  }
  const removed: string[] = []
  const kept: Judged[] = []
  for (const id of new Set(input.form.id)) {
    const one = await judge(ctx, place, id)
    const isRefused = one.reason !== undefined && !one.isGone
    const reason = isRefused ? one.reason : await remove(ctx, account, one)
    if (reason === undefined) removed.push(one.deployment ? titleOf(one.deployment) : id)
    else kept.push({ ...one, reason })
  }
  if (removed.length > 0 && kept.length === 0) {
    const done = doneMessage(NAME, { ...input, answer: { removed: removed.length } })
    return { redirectTo: projectPath(account, project.name, 'deployments'), done }
  }
  const above =
    removed.length > 0 &&
    note('warn', html`${countOf(removed.length, 'deployment')} removed: ${removed.join(', ')}.`, { role: 'alert' })
  return { ...(await removalPage(ctx, place, kept, above || undefined)), status: kept.length === 0 ? 400 : 409 }
}

/** Returns why the route refused it, if it did. A form that is sent twice gets its first answer, for what is gone too. */
async function remove(ctx: ConsoleCtx, account: OwnAccount, { id, deployment, reason }: Judged) {
  try {
    await ctx.callRoute('deleteDeployment', { account, params: { idOrUrl: deployment?.id ?? id }, item: id })
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal) || error.status === 401) throw error
    return reason ?? userMessage(error.message)
  }
}

/** How long deployments of a project are kept. docs/deployments.md: Expiration. */
import type { Static } from 'typebox'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import { PERIOD_DAYS } from '../../../projects/deployments/expiration.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { action, formErrorNotice } from '../../action.ts'
import { editFields } from '../../edit-form.ts'
import { fieldRow, select } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage, projectPath } from '../../frame.ts'

const PATH = '/console/t/:slug/projects/:name/settings/retention'
const TITLE = 'Deployment retention'
const SHOWN = ['getProject']

/** TABLE Fields of the route: the days of the project, and the label. */
const KINDS = {
  expiration: ['expirationDays', 'Previews'],
  expirationProduction: ['expirationDaysProduction', 'Production'],
  expirationCanceled: ['expirationDaysCanceled', 'Canceled'],
  expirationErrored: ['expirationDaysErrored', 'Failed'],
} as const
type Kind = keyof typeof KINDS
type Period = keyof typeof PERIOD_DAYS
const KIND_NAMES = Object.keys(KINDS) as Kind[]

/** TABLE Periods: labels. */
const PERIODS: Record<Period, string> = {
  unlimited: 'Keep',
  '1d': '1 day',
  '1w': '1 week',
  '1m': '1 month',
  '2m': '2 months',
  '3m': '3 months',
  '6m': '6 months',
  '1y': '1 year',
}

/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const Retention = Type.Object(Object.fromEntries(KIND_NAMES.map((kind) => [kind, Text])) as Record<Kind, typeof Text>)

export const retentionScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'showRetention',
    calls: SHOWN,
    run: (ctx, input) => showRetention(ctx, input),
  }),
  action({
    path: PATH,
    name: 'consoleSetRetention',
    form: Retention,
    calls: 'updateDeploymentExpiration',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: bodyOf(form) }),
    changes: [],
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'settings/retention'),
    renderErrors: showRetention,
  }),
]

function bodyOf(form: Static<typeof Retention>) {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, form[kind]]))
}

async function showRetention(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const may = canInAccount(account, 'project:write', 'deployment:write')
  return projectPage(ctx, account, project.name, 'settings', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1></div>
${formErrorNotice(error)}
<p>Older deployments are removed. The one that serves production and those with a domain stay.</p>
${may ? retentionForm(ctx, url, project, error) : facts(project)}`,
  })
}

function retentionForm(ctx: ConsoleCtx, url: string, project: Project, error: FormError | undefined): Html {
  const choices = Object.entries(PERIODS)
  return html`<form class="card in stack form" method="post" action="${url}">
${editFields(ctx, error, (error) => {
  const period = (kind: Kind) => select(kind, KINDS[kind][1], choices, { value: periodOf(project, kind), error })
  return html`${fieldRow(period('expiration'), period('expirationProduction'))}
${fieldRow(period('expirationCanceled'), period('expirationErrored'))}`
})}
<p class="soft small">The age counts from the creation. The first removal comes an hour after a change, so that you can undo it.</p>
<p class="line"><button class="btn primary">Save</button></p>
</form>`
}

function facts(project: Project): Html {
  return html`<section class="card in stack"><dl class="facts">${KIND_NAMES.map((kind) => html`<dt>${KINDS[kind][1]}</dt><dd>${PERIODS[periodOf(project, kind)]}</dd>`)}</dl></section>`
}

function periodOf({ deploymentExpiration }: Project, kind: Kind): Period {
  const days = deploymentExpiration[KINDS[kind][0]]
  return (Object.keys(PERIOD_DAYS) as Period[]).find((period) => PERIOD_DAYS[period] === days) ?? 'unlimited'
}

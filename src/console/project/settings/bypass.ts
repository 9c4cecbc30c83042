/** Secrets for automation that pass the protection of a project. docs/edge.md: Protection. */
import type { Static } from 'typebox'
import { type Html, html } from '../../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { ProtectionBypass } from '../../../projects/projects/bypass.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { action, field, formErrorNotice } from '../../action.ts'
import { button, cardTitle } from '../../controls.ts'
import { copyable, dataTable } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { findAccountOfPath, projectPage, projectPath } from '../../frame.ts'
import { readUserNames, USER_NAME_CALLS } from '../../names/users.ts'
import { relativeTime } from '../../time.ts'

const PATH = '/console/t/:slug/projects/:name/settings/bypass'
const TITLE = 'Bypass secrets'
const SHOWN = ['getProject', ...USER_NAME_CALLS]

/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const NewSecret = Type.Object({ note: Text })
const Secret = Type.Object({ secret: Text })
const Variable = Type.Object({ secret: Text, isEnvVar: Text })

export const bypassScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'showBypassSecrets',
    calls: SHOWN,
    requiresReauthentication: true,
    run: (ctx, input) => showSecrets(ctx, input),
  }),
  change(PATH, 'consoleCreateBypassSecret', NewSecret, ({ note }) => ({ generate: { ...(note && { note }) } })),
  change(`${PATH}/revoke`, 'consoleRevokeBypassSecret', Secret, ({ secret = '' }) => ({ revoke: { secret } })),
  change(`${PATH}/variable`, 'consoleChooseBypassSecret', Variable, ({ secret = '', isEnvVar }) => ({
    update: { secret, isEnvVar: isEnvVar === 'true' },
  })),
]

type Form = typeof NewSecret | typeof Secret | typeof Variable

function change<F extends Form>(path: string, name: string, form: F, bodyOf: (fields: Static<F>) => object): Screen {
  return action<F>({
    path,
    name,
    form,
    fresh: true,
    calls: 'updateProjectProtectionBypass',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: bodyOf(form) }),
    fieldNames: { 'generate.note': 'note' },
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'settings/bypass'),
    renderErrors: showSecrets,
  })
}

type Entry = readonly [secret: string, entry: Static<typeof ProtectionBypass>[string]]

async function showSecrets(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const entries = Object.entries(project.protectionBypass ?? {})
  const names = await readUserNames(
    ctx,
    account,
    entries.map(([, { createdBy }]) => createdBy),
  )
  const path = projectPath(account, project.name, 'settings/bypass')
  return projectPage(ctx, account, project.name, 'settings', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1></div>
${formErrorNotice(error)}
<p>A request with one of these secrets in the header or the query <code>x-vercel-protection-bypass</code> passes the protection of every deployment of this project.</p>
${dataTable(
  TITLE,
  ['Secret', 'Note', 'Created', 'Variable of deployments', 'Actions'],
  entries.map((entry) => row(ctx, path, entry, names)),
  { none: 'No bypass secrets yet.' },
)}
${newSecret(ctx, path, error)}`,
  })
}

function row(ctx: ConsoleCtx, path: string, [secret, entry]: Entry, names: ReadonlyMap<string, string>): Html {
  const { note, createdAt, createdBy, isEnvVar = false } = entry
  const start = secret.slice(0, 4)
  const words = isEnvVar ? 'Leave out' : 'Choose'
  return html`<tr><td>${copyable(secret, 'secret')}</td><td>${note}</td><td>${relativeTime(createdAt, ctx.now)} by ${names.get(createdBy) ?? createdBy}</td>
<td><span class="line tight">${isEnvVar ? 'Yes' : 'No'} ${button(ctx, `${path}/variable`, words, { label: `${words}: ${start}…`, look: 'quiet small', fields: { secret, isEnvVar: String(!isEnvVar) } })}</span></td>
<td class="act">${button(ctx, `${path}/revoke`, 'Revoke', { label: `Revoke ${start}…`, look: 'bad small', fields: { secret } })}</td></tr>
`
}

function newSecret(ctx: ConsoleCtx, path: string, error: FormError | undefined): Html {
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('New secret', 'The one that is chosen is the variable VERCEL_AUTOMATION_BYPASS_SECRET of new deployments.')}
${csrfFields(ctx)}
${field('note', 'Note', { error, hint: 'Optional: what the secret is for, up to 100 characters.', attributes: html` autocomplete="off"` })}
<p class="line"><button class="btn primary">Create secret</button></p>
</form>`
}

import type { Static } from 'typebox'
import { html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { Project } from '../../projects/projects/schema.ts'
import type { TransferCode } from '../../projects/transfer/transfer.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { copyable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPath, consolePage, findAccountOfPath, projectPath } from '../frame.ts'

const GIVE = '/console/t/:slug/projects/:name/transfer'
const RECEIVE = '/console/t/:slug/receive'
const Text = Type.Optional(Type.String())
const Receipt = Type.Object({ code: Text, newProjectName: Text })
/** `id`: of the project that was shown. Another one may have its name by now. */
const Offer = Type.Object({ id: Text })

export const transferScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: GIVE,
    name: 'showTransfer',
    calls: ['getProject'],
    requiresReauthentication: true,
    run: (ctx, input) => showGive(ctx, input),
  }),
  action<typeof Offer, Static<typeof TransferCode>>({
    path: GIVE,
    name: 'consoleRequestTransfer',
    form: Offer,
    calls: 'createProjectTransferRequest',
    renderCalls: ['getProject'],
    // The code grants everything in the project, including values of variables.
    fresh: true,
    request: ({ params, form }) => ({ params: { idOrName: form.id || params.name! }, body: {} }),
    next: ({ code }, { params }, ctx) => showCode(ctx, params, code),
    renderErrors: showGive,
  }),
  consoleScreen({
    method: 'GET',
    path: RECEIVE,
    name: 'showReceive',
    calls: [],
    run: (ctx, input) => showReceive(ctx, input),
  }),
  action({
    path: RECEIVE,
    name: 'consoleAcceptTransfer',
    form: Receipt,
    calls: 'acceptProjectTransferRequest',
    renderCalls: [],
    request: ({ form }) => ({
      params: { code: form.code?.trim() || '-' },
      body: { ...(form.newProjectName?.trim() && { newProjectName: form.newProjectName.trim() }) },
    }),
    next: (_, { params }) => accountPath({ slug: params.slug! }),
    renderErrors: showReceive,
  }),
]

async function showGive(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { id } = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  return consolePage(
    ctx,
    { account, project: params.name!, tab: 'settings' },
    {
      title: 'Transfer project',
      body: html`<div class="head"><h1>Transfer ${params.name} to another account</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}<input type="hidden" name="id" value="${id}">
<p>This creates a transfer code. A member of the other account can use it once, within 24 hours. The project is locked while it moves.</p>
<p>Anyone with the code gets the project with its variables, domains and deployments. Variables created by integrations are removed.</p>
<p class="line"><button class="btn primary">Create code</button><a class="btn" href="${projectPath(account, params.name!, 'settings')}">Cancel</a></p>
</form>`,
    },
  )
}

async function showCode(ctx: ConsoleCtx, params: ScreenInput['params'], code: string) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, project: params.name!, tab: 'settings' },
    {
      title: 'Transfer code',
      body: html`<div class="head"><h1>Transfer code created</h1></div>
<section class="card in stack form"><p>Copy it now. You won't see it again. Send it to a member of the other account: they open their account in the console and choose <em>Accept a transfer</em>.</p>
<p>${copyable(code, 'code')}</p>
<p class="soft small">Single use, valid for 24 hours. A new code replaces this one.</p></section>
<p><a href="${projectPath(account, params.name!)}">Back to ${params.name}</a></p>`,
    },
  )
}

async function showReceive(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: '' },
    {
      title: 'Accept a transfer',
      body: html`<div class="head"><h1>Accept a transfer</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
${field('code', 'Code', { required: true, error, hint: 'Ask the current owner for the code. It is valid for 24 hours.', attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
${field('newProjectName', 'New name', { error, hint: 'Only needed if this account has a project of the same name.', attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
<p class="line"><button class="btn primary">Accept into ${account.slug}</button><a class="btn" href="${accountPath(account)}">Cancel</a></p>
</form>
<p class="soft small">The project moves in the background and then appears in the project list.</p>`,
    },
  )
}

import type { Static, TSchema } from 'typebox'
import { html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import type { TransferCode } from '../../projects/transfer/transfer.ts'
import { action, formErrorNotice } from '../action.ts'
import { copyable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { findAccountOfPath, projectPage, projectPath } from '../frame.ts'

const GIVE = '/console/t/:slug/projects/:name/transfer'

export const transferScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: GIVE,
    name: 'showTransfer',
    calls: ['getProject'],
    requiresReauthentication: true,
    run: (ctx, input) => showGive(ctx, input),
  }),
  action<TSchema, Static<typeof TransferCode>>({
    path: GIVE,
    name: 'consoleRequestTransfer',
    calls: 'createProjectTransferRequest',
    renderCalls: ['getProject'],
    // The code grants everything in the project, including values of variables.
    fresh: true,
    request: ({ params, shownProject }) => ({ params: { idOrName: shownProject || params.name! }, body: {} }),
    next: ({ code }, { params }, ctx) => showCode(ctx, params, code),
    renderErrors: showGive,
  }),
]

async function showGive(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  // Returns 404 for a missing project.
  await ctx.callRoute('getProject', { account, params: { idOrName: params.name! } })
  return projectPage(ctx, account, params.name!, 'settings', {
    title: 'Transfer project',
    body: html`<div class="head"><h1>Transfer ${params.name} to another account</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
<p>This creates a transfer code. A member of the other account can use it once, within 24 hours. The project is locked while it moves.</p>
<p>Anyone with the code gets the project with its variables, domains and deployments. Variables created by integrations are removed.</p>
<p class="line"><button class="btn primary">Create code</button><a class="btn" href="${projectPath(account, params.name!, 'settings')}">Cancel</a></p>
</form>`,
  })
}

async function showCode(ctx: ConsoleCtx, params: ScreenInput['params'], code: string) {
  const account = await findAccountOfPath(ctx, params)
  return projectPage(ctx, account, params.name!, 'settings', {
    title: 'Transfer code',
    body: html`<div class="head"><h1>Transfer code created</h1></div>
<section class="card in stack form"><p>Copy it now. You won't see it again. Send it to a member of the other account: they open their account in the console and choose <em>Accept a transfer</em>.</p>
<p>${copyable(code, 'code')}</p>
<p class="soft small">Single use, valid for 24 hours. A new code replaces this one.</p></section>
<p><a href="${projectPath(account, params.name!)}">Back to ${params.name}</a></p>`,
  })
}

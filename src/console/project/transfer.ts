/** Giving a project to another account: making the code, and using one. docs/transfer.md. */
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
import type { TransferCode } from '../../projects/transfer/transfer.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { copyable } from '../fields.ts'
import { accountPath, consolePage, findAccountOfPath, projectPath } from '../frame.ts'
import type { Refused } from '../refused.ts'

const GIVE = '/console/t/:slug/projects/:name/transfer'
const RECEIVE = '/console/t/:slug/receive'
const Text = Type.Optional(Type.String())
const Receipt = Type.Object({ code: Text, newProjectName: Text })

export const transferScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: GIVE,
    name: 'showTransfer',
    calls: ['getProject'],
    requiresReauthentication: true,
    run: (ctx, input) => showGive(ctx, input),
  }),
  action<typeof Receipt, Static<typeof TransferCode>>({
    path: GIVE,
    name: 'consoleRequestTransfer',
    asks: 'createProjectTransferRequest',
    shows: ['getProject'],
    // The code gives all that the project holds, its values too.
    fresh: true,
    wish: ({ params }) => ({ params: { idOrName: params.name! }, body: {} }),
    to: ({ code }, { params }, ctx) => showCode(ctx, params, code),
    again: showGive,
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
    asks: 'acceptProjectTransferRequest',
    shows: [],
    wish: ({ form }) => ({
      params: { code: form.code?.trim() || '-' },
      body: { ...(form.newProjectName?.trim() && { newProjectName: form.newProjectName.trim() }) },
    }),
    to: (_, { params }) => accountPath({ slug: params.slug! }),
    again: showReceive,
  }),
]

async function showGive(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  // A project that is not there has no page.
  await ctx.ask('getProject', { account, params: { idOrName: params.name! } })
  return consolePage(
    ctx,
    { account, project: params.name!, tab: 'settings' },
    {
      title: 'Transfer the project',
      body: html`<div class="top"><h1>Transfer ${params.name} to another account</h1></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
<p>This makes a code. A member of the other account uses it within 24 hours, once. From then on the project is locked until it is there.</p>
<p>Whoever has the code gets the project with its variables, domains and deployments. Variables that integrations made stay behind and are removed.</p>
<p class="actions"><button>Make the code</button><a class="button quiet" href="${projectPath(account, params.name!, 'settings')}">Cancel</a></p>
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
      title: 'The code',
      body: html`<div class="top"><h1>The code is made</h1></div>
<section class="stack card"><p>It is shown this once. Give it to a member of the other account: they open their account in the console and choose <em>Receive a project</em>.</p>
<p>${copyable(code, 'code')}</p>
<p class="soft small">It works once, and for 24 hours. A new code ends this one.</p></section>
<p><a href="${projectPath(account, params.name!)}">Back to ${params.name}</a></p>`,
    },
  )
}

async function showReceive(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: '' },
    {
      title: 'Receive a project',
      body: html`<div class="top"><h1>Receive a project</h1></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${url}">
${csrfFields(ctx)}
${field('code', 'Code', { required: true, refused, hint: 'Whoever transfers the project made it, at most 24 hours ago.', attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
${field('newProjectName', 'Another name', { refused, hint: 'Only where this account has a project of that name already.', attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
<p class="actions"><button>Receive it into ${account.slug}</button><a class="button quiet" href="${accountPath(account)}">Cancel</a></p>
</form>
<p class="soft small">It moves in the background and is in the list of projects in a moment.</p>`,
    },
  )
}

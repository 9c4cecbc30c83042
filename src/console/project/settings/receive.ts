/** A project is received by a transfer code: first what comes, then the acceptance. docs/transfer.md. */
import type { Static } from 'typebox'
import type { Page } from '../../../platform/pages/frame.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { Refusal, refuse } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import { previewTransfer, type TransferPreview } from '../../../projects/transfer/preview.ts'
import { action, field, formErrorNotice, formErrorOf, PLAIN_TEXT } from '../../action.ts'
import { cardTitle, countOf } from '../../controls.ts'
import type { FormError } from '../../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../../frame.ts'
import { relativeTime } from '../../time.ts'

const RECEIVE = '/console/t/:slug/receive'
const TITLE = 'Accept a transfer'
const Text = Type.Optional(Type.String())
const Receipt = Type.Object({ code: Text, newProjectName: Text, step: Text })
type Form = Static<typeof Receipt>

const accept = action({
  path: RECEIVE,
  name: 'consoleAcceptTransfer',
  form: Receipt,
  calls: 'acceptProjectTransferRequest',
  renderCalls: [],
  request: ({ form }) => ({
    params: { code: codeIn(form) },
    body: { ...(form.newProjectName?.trim() && { newProjectName: form.newProjectName.trim() }) },
  }),
  next: (_, { params }) => accountPath({ slug: params.slug! }),
  renderErrors: showAgain,
})

export const receiveScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: RECEIVE,
    name: 'showReceive',
    calls: [],
    run: (ctx, input) => showCode(ctx, input),
  }),
  // Only the step of the reviewed form accepts.
  {
    ...accept,
    run: (ctx: ConsoleCtx, input: ScreenInput) => {
      const form = input.form as Form
      if (input.error !== undefined || form.step === 'accept') return accept.run(ctx, input, undefined)
      return showReview(ctx, { ...input, form })
    },
  },
]

function codeIn({ code }: Form): string {
  return code?.trim() || '-'
}

/** What the acceptance refuses, on the review as long as the code is good. */
async function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError): Promise<Page> {
  const form = input.form as Form
  if (form.step !== 'accept' || error?.field === 'code') return showCode(ctx, input, error)
  return showReview(ctx, { ...input, form }, error)
}

async function showReview(ctx: ConsoleCtx, input: ScreenInput<unknown, Form>, error?: FormError): Promise<Page> {
  const account = await findAccountOfPath(ctx, input.params)
  try {
    if (!canInAccount(account, 'project:receive'))
      refuse('missing_permission', 'Your role cannot receive projects into this account.')
    const preview = await previewTransfer(ctx, account.id, codeIn(input.form))
    return reviewPage(ctx, account, input, preview, error)
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal
    const ofCode = refusal.key === 'missing_permission' ? undefined : 'code'
    const shown = error ?? { ...formErrorOf(refusal, input.form), field: ofCode }
    return { ...(await showCode(ctx, input, shown)), status: refusal.status }
  }
}

function reviewPage(
  ctx: ConsoleCtx,
  account: OwnAccount,
  { url, form }: ScreenInput<unknown, Form>,
  preview: TransferPreview,
  error?: FormError,
): Promise<Page> {
  const { name, from, createdBy, expiresAt, isNameTaken } = preview
  const typed = { code: form.code, newProjectName: form.newProjectName }
  const message = `${account.slug} already has a project named “${name}”. Enter another name.`
  const wrong = error ?? (isNameTaken && !form.newProjectName?.trim() ? nameTaken(message, typed) : undefined)
  return accountPage(ctx, account, '', {
    title: 'Review the transfer',
    body: html`<div class="head"><h1>Accept ${name} into ${account.slug}?</h1></div>
${formErrorNotice(error)}
<section class="card in stack">${cardTitle('Project')}<dl class="facts"><dt>Project</dt><dd>${name}</dd><dt>From</dt><dd>${from}</dd><dt>Code created by</dt><dd>${createdBy}</dd><dt>Code expires</dt><dd>${relativeTime(expiresAt, ctx.now)}</dd></dl></section>
<section class="card in stack">${cardTitle('What moves')}${whatMoves(preview)}</section>
<section class="card in stack">${cardTitle('What stays behind')}${whatStays(preview)}</section>
<form class="card in stack form" method="post" action="${url}" data-turbo="false" data-review>${cardTitle('Accept', 'The project moves in the background, and cannot be changed meanwhile.')}
${csrfFields(ctx)}<input type="hidden" name="code" value="${form.code}">
${field('newProjectName', 'New name', { required: isNameTaken, value: form.newProjectName, error: wrong, hint: isNameTaken ? 'Lowercase letters, digits, ".", "_" and "-".' : 'Leave empty to keep the name.', attributes: PLAIN_TEXT })}
<p class="line"><button class="btn primary" name="step" value="accept">Accept into ${account.slug}</button><a class="btn" href="${accountPath(account)}">Cancel</a></p>
</form>`,
  })
}

function nameTaken(message: string, typed: Record<string, unknown>): FormError {
  return { message, field: 'newProjectName', typed, extra: {} }
}

function whatMoves({ domains, variables, deployments }: TransferPreview): Html {
  const others = domains.count - domains.names.length
  return html`<ul><li>${countOf(domains.count, 'domain')}${domains.count > 0 && html`: ${domains.names.join(', ')}${others > 0 && ` and ${others} more`}. Verified ones stay verified`}.</li>
<li>${countOf(variables.own, 'variable')}, with history. Your account can read the values, except those of write-only variables.</li>
<li>${countOf(deployments, 'deployment')}, with aliases.</li>
<li>Settings, password protection and bypass secrets. Change the secrets: the other account knows them.</li>
<li>The link to the git repository.</li></ul>`
}

function whatStays({ variables }: TransferPreview): Html {
  return html`<ul>${variables.fromIntegrations > 0 && html`<li>${countOf(variables.fromIntegrations, 'variable')} created by integrations. They are deleted.</li>`}
<li>Access of integrations, webhooks and log drains of the other account.</li>
<li>Shared variables, the audit log and the git credential.</li></ul>`
}

async function showCode(ctx: ConsoleCtx, { params, url, form }: ScreenInput, error?: FormError): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const { newProjectName } = (form ?? {}) as Form
  return accountPage(ctx, account, '', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}${newProjectName && html`<input type="hidden" name="newProjectName" value="${newProjectName}">`}
${field('code', 'Code', { required: true, error, hint: 'Ask the current owner for the code. It is valid for 24 hours.', attributes: PLAIN_TEXT })}
<p class="line"><button class="btn primary">Review the transfer</button><a class="btn" href="${accountPath(account)}">Cancel</a></p>
</form>
<p class="soft small">You see what the project brings before you accept it.</p>`,
  })
}

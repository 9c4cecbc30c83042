import type { Static } from 'typebox'
import { toSingleLine } from '../../platform/mail/text.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { html } from '../../platform/pages/html.ts'
import { accountContext, nameOf } from '../../platform/pages/own-accounts.ts'
import { csrfFields, type ScreenInput, type UserPageCtx, type View } from '../../platform/pages/screen.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { Type } from '../../platform/schema/builder.ts'
import { confirmScopes, pendingScopes } from '../installations/scope-change.ts'
import { listScopes } from './scope-descriptions.ts'
import { findAccountInstallation, findManageableInstallation } from './shown-installations.ts'

export const Confirm = Type.Object({ scope: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 30 }) })

/** Shows an OWNER the scopes that an integration requests in addition. */
export async function showPending(ctx: UserPageCtx, { params, url }: ScreenInput): Promise<View> {
  const { installation, integration, account } = await findAccountInstallation(ctx, params.id!)
  const name = toSingleLine(integration.name)
  const pending = pendingScopes(integration, installation)
  const back = html`<a class="btn" href="/integrations/installed">${pending.length === 0 ? 'Go to the installed integrations' : 'Not now'}</a>`
  const title = pending.length === 0 ? 'No pending request' : `${name} requests more access`
  if (pending.length === 0) {
    return { title, body: html`<h1>${title}</h1><p>${name} has all the access that it requests.</p><p>${back}</p>` }
  }
  const buttons =
    account.role === 'OWNER'
      ? html`<form method="post" action="${url}">
${csrfFields(ctx)}
${pending.map((scope) => html`<input type="hidden" name="scope" value="${scope}">`)}
<p class="line"><button class="btn primary">Confirm all</button> ${back}</p>
</form>`
      : html`${note('info', 'Only an owner of the team can confirm this.')}<p>${back}</p>`
  return {
    title,
    body: html`<h1>${title}</h1>
<p>On <strong>${nameOf(account)}</strong>, it requests this in addition to its current access:</p>
${listScopes(pending)}
<details><summary>What it can do now</summary>${listScopes(scopesOf(installation))}</details>
<p>When you confirm, it can do all of this at once. Until then it keeps the access that it has.</p>
${buttons}`,
  }
}

/** Confirms the scopes that the form names. Refuses: missing_permission 403 (not an OWNER). */
export async function confirm(
  ctx: UserPageCtx,
  { params, form }: ScreenInput<unknown, Static<typeof Confirm>>,
): Promise<View> {
  const { installation, account } = await findManageableInstallation(ctx, params.id!)
  const by = accountContext(ctx, account)
  await confirmScopes(by, installation, form.scope)
  return { redirectTo: '/integrations/installed', audit: { by, subjectId: installation.id } }
}

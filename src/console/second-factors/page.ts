import { passkeyForm } from '../../accounts/second-factor/passkey-form.ts'
import { PASSKEY_SCRIPT } from '../../accounts/second-factor/passkey-script.ts'
import { arePasskeysPossible, listPasskeys, registrationOptions } from '../../accounts/second-factor/passkeys.ts'
import { countRecoveryCodes } from '../../accounts/second-factor/recovery-codes.ts'
import { hasTotp } from '../../accounts/second-factor/totp.ts'
import type { Row } from '../../platform/db/schema.ts'
import { note } from '../../platform/pages/face/notes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { csrfFields, type UserPageCtx } from '../../platform/pages/screen.ts'
import { formErrorNotice } from '../action.ts'
import { cardTitle, confirmedButton } from '../controls.ts'
import type { FormError } from '../form-error.ts'
import { personPage } from '../frame.ts'
import { browserName } from '../names/browsers.ts'
import { relativeTime } from '../time.ts'
import { FACTORS } from './shown-codes.ts'

const CODES = `${FACTORS}/codes`
const PASSKEYS = `${FACTORS}/passkeys`

/**
 * Renders the second factors of the session user. docs/sign-in-and-consent.md: Second factors. `error`: the error of one of its forms; its
 * `id` is the passkey to rename.
 */
export async function showFactors(ctx: UserPageCtx, error?: FormError): Promise<Page> {
  const { userId } = ctx.user
  const hasCodes = await hasTotp(ctx.db, userId)
  const passkeys = await listPasskeys(ctx.db, userId)
  const left = await countRecoveryCodes(ctx.db, userId)
  const options = arePasskeysPossible(ctx) ? await registrationOptions(ctx, ctx.user) : undefined
  const hasAny = hasCodes || passkeys.length > 0
  return personPage(ctx, 'security/factors', {
    title: 'Second factors',
    scripts: options ? [PASSKEY_SCRIPT] : undefined,
    body: html`<div class="head"><h1>Second factors</h1></div>
${formErrorNotice(error)}
<p>${hasAny ? "A password isn't enough to sign in: you also need one of these." : "Your password is enough to sign in. Add a second factor: then a stolen password isn't enough."}</p>
<section class="card in stack">${oneTimeCodes(ctx, hasCodes)}</section>
<section class="card in stack">${cardTitle('Passkeys', "A passkey is stored on your phone, computer or security key. It signs you in without a password and can't be guessed or phished.")}
${passkeys.length > 0 && html`<ul class="rows plain-rows">${passkeys.map((passkey) => listItem(ctx, passkey, error))}</ul>`}
<noscript>${note('info', 'To add a passkey, enable JavaScript in your browser.')}</noscript>
${options === undefined ? impossible : passkeyForm(ctx, { action: PASSKEYS, options, kind: 'create', button: 'Add a passkey', fields: addField(error, newName(ctx, passkeys)) })}</section>
${hasAny && html`<section class="card in stack">${cardTitle('Recovery codes', `${left} of 10 codes left. Each replaces a second factor once.`)}${recovery(ctx)}</section>`}`,
  })
}

const impossible = note('info', 'Passkeys need a domain name with https. The operator sets it with BERTH_PUBLIC_URL.')

function oneTimeCodes(ctx: UserPageCtx, hasCodes: boolean): Html {
  const [about, action, button] = hasCodes
    ? ['An app on your phone generates the codes for sign-in.', 'remove', 'Remove one-time codes']
    : ['An app on your phone generates a new code every 30 seconds.', 'begin', 'Set up one-time codes']
  return html`${cardTitle('One-time codes', about)}
<form method="post" action="${CODES}/${action}" data-turbo="false">${csrfFields(ctx)}
<p class="line"><button class="btn${hasCodes ? '' : ' primary'}">${button}</button></p></form>`
}

function recovery(ctx: UserPageCtx): Html {
  return html`<form method="post" action="${FACTORS}/recovery" data-turbo="false">${csrfFields(ctx)}
<p class="line"><button class="btn">Create new recovery codes</button></p></form>`
}

/** Such as `Chrome on macOS`, with a number if the user has a passkey of that name. */
function newName({ agent }: UserPageCtx, passkeys: readonly { name: string }[]): string {
  const browser = browserName(agent) ?? 'Passkey'
  const names = new Set(passkeys.map(({ name }) => name))
  const numbered = passkeys.map((_, at) => `${browser} ${at + 2}`)
  return [browser, ...numbered].find((name) => !names.has(name))!
}

function addField(error: FormError | undefined, name: string): Html {
  const typed = error !== undefined && !('id' in error.typed) ? error.typed.name : undefined
  return html`<div class="field"><label for="passkey-name">Name of the passkey</label>
<input type="text" id="passkey-name" name="name" value="${String(typed ?? name)}" required maxlength="100" autocomplete="off"></div>`
}

function listItem(
  ctx: UserPageCtx,
  { id, name, created_at, used_at }: Row<'passkey'>,
  error: FormError | undefined,
): Html {
  const isRefused = error?.typed.id === id
  const typed = isRefused ? String(error.typed.name ?? name) : name
  const used = used_at === null ? 'not used yet' : html`used ${relativeTime(used_at, ctx.now)}`
  return html`<li class="row"><div class="grow any"><strong>${name}</strong><p class="soft small">Added ${relativeTime(created_at, ctx.now)}, ${used}</p></div>
<details class="twice" id="rename:${id}"${isRefused && html` open`}><summary class="btn small" aria-label="Rename ${name}">Rename</summary>
<form class="search" method="post" action="${PASSKEYS}/name" data-turbo="false">${csrfFields(ctx)}<input type="hidden" name="id" value="${id}">
<input type="text" name="name" value="${typed}" aria-label="New name of ${name}" required maxlength="100" autocomplete="off"><button class="btn small">Save</button></form></details>
${confirmedButton(ctx, `${PASSKEYS}/remove`, 'Remove', { label: `Remove ${name}`, look: 'small', fields: { id }, asks: 'You can no longer sign in with it.' })}</li>`
}

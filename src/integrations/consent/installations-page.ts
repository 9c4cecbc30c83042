import type { Static } from 'typebox'
import type { Installation } from '../../model/installation.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { day, type Html, html } from '../../platform/pages/html.ts'
import {
  accountContext,
  accountsOf,
  findOwnAccount,
  nameOf,
  type OwnAccount,
} from '../../platform/pages/own-accounts.ts'
import type { Screen, ScreenInput, UserPageCtx, View } from '../../platform/pages/screen.ts'
import { csrfFields, userScreen } from '../../platform/pages/screen.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { Type } from '../../platform/schema/builder.ts'
import { DISABLED_REASON_TEXT, DISABLED_RETENTION_MS } from '../installations/disable.ts'
import { REMOVAL_EVENTS, removeInstallation } from '../installations/remove.ts'
import { pendingScopes } from '../installations/scope-change.ts'
import { transferOwnership } from '../installations/transfer-ownership.ts'
import { heldSection } from '../webhooks/held-page.ts'
import { Confirm, confirm, showPending } from './confirm-scopes-page.ts'
import { logoOf } from './consent-page.ts'
import { listScopes } from './scope-descriptions.ts'
import {
  type AccountInstallation,
  canSeeInstallations,
  findManageableInstallation,
  listAccountInstallations,
  readSelectedNames,
} from './shown-installations.ts'

const InstalledQuery = Type.Object({ teamId: Type.Optional(Type.String({ maxLength: 64 })) })
type InstalledInput = ScreenInput<Static<typeof InstalledQuery>>
/** Installations listed per account: on the page of all accounts, and on the page of one. */
const MAX_OF_ALL = 20
const MAX_OF_ONE = 200
const PROJECTS_NAMED = 20

const ONE = '/integrations/installed/:id'
const CONFIRM = '/integrations/confirm/:id'

export const installedScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: '/integrations/installed',
    name: 'showInstalled',
    query: InstalledQuery,
    run: showInstalled,
  }),
  userScreen({
    method: 'GET',
    path: `${ONE}/uninstall`,
    name: 'askUninstall',
    run: askUninstall,
    refuses: ['owner_only'],
  }),
  userScreen({
    method: 'POST',
    path: `${ONE}/uninstall`,
    name: 'uninstall',
    run: uninstall,
    emits: REMOVAL_EVENTS,
    refuses: ['owner_only'],
  }),
  userScreen({
    method: 'GET',
    path: `${ONE}/take-over`,
    name: 'askTakeOver',
    run: askTakeOver,
    refuses: ['owner_only'],
  }),
  userScreen({
    method: 'POST',
    path: `${ONE}/take-over`,
    name: 'takeOver',
    run: takeOver,
    emits: ['integration-configuration.transferred'],
    refuses: ['owner_only'],
  }),
  userScreen({ method: 'GET', path: CONFIRM, name: 'showPendingScopes', run: showPending }),
  userScreen({
    method: 'POST',
    path: CONFIRM,
    name: 'confirmScopes',
    form: Confirm,
    run: confirm,
    emits: ['integration-configuration.scope-change-confirmed'],
    refuses: ['owner_only', 'scopes_changed'],
  }),
]

async function showInstalled(ctx: UserPageCtx, { query }: InstalledInput): Promise<View> {
  const own = query.teamId === undefined ? undefined : await findOwnAccount(ctx, query.teamId)
  const accounts = own ? [own] : await accountsOf(ctx)
  const sections: Html[] = []
  const origins = new Set<string>()
  for (const account of accounts) {
    sections.push(await accountSection(ctx, account, own ? MAX_OF_ONE : MAX_OF_ALL, origins))
  }
  return {
    title: 'Installed integrations',
    images: [...origins].join(' '),
    body: html`<h1>Installed integrations</h1>
<p>Other teams run these integrations. Each has the access listed below its name until it is uninstalled.</p>
${own && html`<p><a href="/integrations/installed">Show all your accounts</a></p>`}
${sections}`,
  }
}

/** Also adds the origins of its logos to `origins`. */
async function accountSection(ctx: UserPageCtx, account: OwnAccount, max: number, origins: Set<string>): Promise<Html> {
  const heading = html`<h2>${nameOf(account)}</h2>`
  if (!canSeeInstallations(account)) {
    return html`<section>${heading}<p class="soft">Your role in this team (${account.role.toLowerCase()}) does not show installed integrations.</p></section>`
  }
  if (account.lacks_factor === 1)
    return html`<section>${heading}<p class="soft">This team requires a second factor. <a href="/console/account/security/factors">Set one up</a></p></section>`
  const installations = await listAccountInstallations(ctx, account, max + 1)
  const section = await heldSection(ctx, account)
  if (installations.length === 0)
    return html`<section>${heading}<p class="soft">Nothing is installed.</p>${section}</section>`
  const entries: Html[] = []
  for (const installation of installations.slice(0, max)) {
    entries.push(await entry(ctx, installation))
    const logo = logoOf(installation.integration)
    if (logo) origins.add(logo.origin)
  }
  const more =
    installations.length > max &&
    html`<p class="soft">These are the newest ${max}. <a href="/integrations/installed?teamId=${account.id}">Show those of this account</a></p>`
  return html`<section>${heading}<ul class="rows">${entries}</ul>${more}${section}</section>`
}

async function entry(ctx: UserPageCtx, item: AccountInstallation): Promise<Html> {
  const { installation, integration, runBy, ownedBy, account } = item
  const path = `/integrations/installed/${installation.id}`
  const name = toSingleLine(integration.name)
  const pending = pendingScopes(integration, installation)
  const canChange = account.role === 'OWNER'
  const logo = logoOf(integration)
  return html`<li id="${installation.id}">
<h3 class="named">${logo && html`<img src="${logo.url}" alt="" width="24" height="24">`}${name} ${installation.disabled_at !== null && html`<span class="badge accent">Disabled</span>`}</h3>
<p class="soft small">Run by ${toSingleLine(runBy)}. Owned here by ${toSingleLine(ownedBy)} since ${day(Math.max(installation.created_stamp / 1024, installation.resumed_at ?? 0))}.</p>
${disabledNotice(installation)}
<p>Projects: ${await projectNames(ctx, installation)}</p>
<details><summary>What it can do</summary>${listScopes(scopesOf(installation))}</details>
${pending.length > 0 && note('info', html`It requests more access. <a href="/integrations/confirm/${installation.id}">Review the request of ${name}</a>`)}
${
  canChange &&
  html`<p class="line">${
    installation.disabled_at !== null &&
    html`<a class="btn primary" href="${path}/take-over">Become owner of ${name}</a>`
  }<a class="btn" href="${path}/uninstall">Uninstall ${name}</a></p>`
}
</li>`
}

function disabledNotice({ disabled_at, disabled_reason }: Installation): Html | undefined {
  if (disabled_at === null) return undefined
  const end = day(disabled_at + DISABLED_RETENTION_MS)
  return note(
    'bad',
    html`It is disabled and its requests fail, because its owner ${DISABLED_REASON_TEXT[disabled_reason!]}.
An owner of the team can become its owner. ${
      disabled_reason !== 'disabled-by-admin' &&
      `On ${end} it is removed, with the environment variables that it created.`
    }`,
  )
}

async function projectNames(ctx: UserPageCtx, installation: Installation): Promise<string> {
  const names = await readSelectedNames(ctx, installation, PROJECTS_NAMED + 1)
  if (names === undefined) return 'all, present and future'
  if (names.length === 0) return 'none'
  return `${names.slice(0, PROJECTS_NAMED).join(', ')}${names.length > PROJECTS_NAMED ? ' and more' : ''}`
}

async function askUninstall(ctx: UserPageCtx, { params, url }: ScreenInput): Promise<View> {
  const { integration, account } = await findManageableInstallation(ctx, params.id!)
  const name = toSingleLine(integration.name)
  return {
    title: `Uninstall ${name}`,
    body: html`<h1>Uninstall ${name}?</h1>
<p>It loses its access to <strong>${nameOf(account)}</strong> at once. Its webhooks, its log drains and the environment variables
that it created are removed. You cannot undo this. You can install it again.</p>
<form method="post" action="${url}">
${csrfFields(ctx)}
<p class="line"><button class="btn danger">Uninstall</button> <a class="btn" href="/integrations/installed">Keep it</a></p>
</form>`,
  }
}

async function uninstall(ctx: UserPageCtx, { params }: ScreenInput): Promise<View> {
  const { installation, account } = await findManageableInstallation(ctx, params.id!)
  const by = accountContext(ctx, account)
  await removeInstallation(by, installation)
  return { redirectTo: '/integrations/installed', audit: { by, subjectId: installation.id } }
}

async function askTakeOver(ctx: UserPageCtx, { params, url }: ScreenInput): Promise<View> {
  const { installation, integration, account } = await findManageableInstallation(ctx, params.id!)
  const name = toSingleLine(integration.name)
  return {
    title: `Become owner of ${name}`,
    body: html`<h1>Become owner of ${name}?</h1>
<p>You become its owner on <strong>${nameOf(account)}</strong>. It works again at once, with the access listed here, and receives
the events from while it was disabled.</p>
${listScopes(scopesOf(installation))}
<form method="post" action="${url}">
${csrfFields(ctx)}
<p class="line"><button class="btn primary">Become owner</button> <a class="btn" href="/integrations/installed">Not now</a></p>
</form>`,
  }
}

async function takeOver(ctx: UserPageCtx, { params }: ScreenInput): Promise<View> {
  const { installation, account } = await findManageableInstallation(ctx, params.id!)
  const by = accountContext(ctx, account)
  await transferOwnership(by, installation)
  return { redirectTo: '/integrations/installed', audit: { by, subjectId: installation.id } }
}

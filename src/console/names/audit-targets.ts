/** Names and links of the targets of activity and audit entries. docs/console.md: Page layout. */

import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { accountPath, deploymentPath, projectPath } from '../frame.ts'
import { titleOf } from '../project/commit.ts'

type Named = 'person' | 'team' | 'project' | 'integration' | 'installation'
export type AuditTarget =
  | { kind: Named | 'shared variable' | 'webhook' | 'log drain'; name: string }
  | { kind: 'variable' | 'deployment'; name: string; project: string }

/**
 * Finds the targets of the entries of an account: those of `findTargetsById`, names of projects and the team, and variables, shared ones
 * included, deployments, webhooks and log drains by id. Needs no further check: a caller who may read the activity may read all its targets.
 */
export async function findAuditTargets(
  ctx: ConsoleCtx,
  account: OwnAccount,
  some: readonly (string | null)[],
): Promise<ReadonlyMap<string, AuditTarget>> {
  const ids = [...new Set(some.filter((id) => id !== null))]
  const found = new Map(await findTargetsById(ctx, ids, account.id))
  if (ids.length === 0) return found
  if (account.kind === 'team') found.set(account.slug, { kind: 'team', name: account.slug })
  const ofAccount = ctx.db.selectFrom('project').where('project.account_id', '=', account.id)
  const named = await ofAccount.select('name').where('name', 'in', ids).execute()
  for (const { name } of named) found.set(name, { kind: 'project', name })
  const variables = await ofAccount
    .innerJoin('env_var', 'env_var.project_id', 'project.id')
    .select(['env_var.id', 'env_var.key', 'project.name as project'])
    .where('env_var.id', 'in', ids)
    .execute()
  for (const { id, key, project } of variables) found.set(id, { kind: 'variable', name: key, project })
  const deployments = await ofAccount
    .innerJoin('deployment', 'deployment.project_id', 'project.id')
    .select(['deployment.id', 'deployment.meta_json', 'deployment.url', 'project.name as project'])
    .where('deployment.id', 'in', ids)
    .execute()
  for (const { id, meta_json, url, project } of deployments)
    found.set(id, { kind: 'deployment', name: titleOf({ meta: JSON.parse(meta_json), url }), project })
  const shared = ctx.db.selectFrom('shared_env_var').select(['id', 'key']).where('account_id', '=', account.id)
  for (const { id, key } of await shared.where('id', 'in', ids).execute())
    found.set(id, { kind: 'shared variable', name: key })
  for (const [id, target] of await findEndpoints(ctx, account, ids)) found.set(id, target)
  return found
}

/** Of a webhook only the host: a path may hold a secret. */
async function findEndpoints({ db }: ConsoleCtx, account: OwnAccount, ids: readonly string[]) {
  const webhooks = await db
    .selectFrom('webhook')
    .select(['id', 'url'])
    .where('account_id', '=', account.id)
    .where('id', 'in', ids)
    .execute()
  const drains = await db
    .selectFrom('log_drain')
    .select(['id', 'name'])
    .where('account_id', '=', account.id)
    .where('id', 'in', ids)
    .execute()
  return [
    ...webhooks.map(({ id, url }) => [id, { kind: 'webhook', name: URL.parse(url)?.host ?? id }] as const),
    ...drains.map(({ id, name }) => [id, { kind: 'log drain', name }] as const),
  ]
}

/**
 * Finds users, teams, projects, integrations and installations by id. Deleted and other targets are omitted. `accountId`: undefined for the
 * operator, who sees all accounts.
 */
export async function findTargetsById(
  { db }: ConsoleCtx,
  some: readonly (string | null)[],
  accountId?: string,
): Promise<ReadonlyMap<string, AuditTarget>> {
  const ids = [...new Set(some.filter((id) => id !== null))]
  if (ids.length === 0) return new Map()
  const accounts = await db.selectFrom('account').select(['id', 'slug', 'kind']).where('id', 'in', ids).execute()
  let projects = db.selectFrom('project').select(['id', 'name']).where('id', 'in', ids)
  let integrations = db.selectFrom('integration').select(['id', 'name']).where('id', 'in', ids)
  let installations = db
    .selectFrom('configuration')
    .innerJoin('integration', 'integration.id', 'configuration.integration_id')
    .select(['configuration.id', 'integration.name'])
    .where('configuration.id', 'in', ids)
  if (accountId !== undefined) {
    projects = projects.where('account_id', '=', accountId)
    integrations = integrations.where('team_id', '=', accountId)
    installations = installations.where('configuration.account_id', '=', accountId)
  }
  const named = (kind: 'project' | 'integration' | 'installation', rows: readonly { id: string; name: string }[]) =>
    rows.map(({ id, name }) => [id, { kind, name }] as const)
  return new Map<string, AuditTarget>([
    ...accounts.map(({ id, slug, kind }) => [id, { kind: kind === 'team' ? 'team' : 'person', name: slug }] as const),
    ...named('project', await projects.execute()),
    ...named('integration', await integrations.execute()),
    ...named('installation', await installations.execute()),
  ])
}

/** Renders the name of a target with a link to `pathOf`. Unknown targets show their id. */
export function targetLink(
  id: string,
  subjects: ReadonlyMap<string, AuditTarget>,
  pathOf: (subject: AuditTarget, id: string) => string | undefined,
): Html {
  const subject = subjects.get(id)
  if (subject === undefined) return html`<code class="small">${id}</code>`
  const path = pathOf(subject, id)
  if (path === undefined) return html`<span title="${id}">${subject.name}</span>`
  return html`<a href="${path}" title="${id}">${subject.name}</a>${'project' in subject && html` of ${subject.project}`}`
}

/** Returns the function that resolves the page of a target in an account. */
export function targetPathIn(account: OwnAccount): (subject: AuditTarget, id: string) => string | undefined {
  return (subject, id) => {
    const { kind, name } = subject
    if (kind === 'deployment') return deploymentPath(account, subject.project, id)
    if (kind === 'variable') return projectPath(account, subject.project, `variables/${encodeURIComponent(id)}/history`)
    if (kind === 'shared variable') return searchPath(account, 'variables', name)
    if (kind === 'project') return projectPath(account, name)
    if (kind === 'installation') return accountPath(account, `integrations/${encodeURIComponent(id)}`)
    if (kind === 'integration') return accountPath(account, `apps/${encodeURIComponent(id)}`)
    if (kind === 'webhook') return accountPath(account, `webhooks/${encodeURIComponent(id)}`)
    if (kind === 'log drain') return accountPath(account, `drains/${encodeURIComponent(id)}`)
    if (kind === 'team') return name === account.slug ? accountPath(account, 'settings') : undefined
    return account.kind === 'team' ? searchPath(account, 'members', name) : undefined
  }
}

function searchPath(account: OwnAccount, section: string, search: string): string {
  return `${accountPath(account, section)}?${new URLSearchParams({ search })}`
}

/** Installs an integration on an account, or renews its installation. docs/integrations-life-cycle.md. */
import { sql } from 'kysely'
import type { EventAccount, OperatorCtx } from '../../context.ts'
import { membership } from '../../model/account.ts'
import { type Installation, readInstallationOn } from '../../model/installation.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import { newId } from '../../platform/base/ids.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { emitScopesConfirmed, pendingScopes } from './scope-change.ts'

type Acting = Pick<OperatorCtx, 'db' | 'deps' | 'now' | 'stamp' | 'emit'>

export type InstallationRequest = {
  integration: Row<'integration'>
  /** The consenting user, who becomes the owner of the installation. */
  userId: string
  account: EventAccount
  projects: 'all' | string[]
}

/**
 * Installs an integration with all requested scopes and returns the installation's id. An existing installation gets the new scopes, projects and
 * owner, is enabled, and receives an event when this confirms pending scopes. Specification: Integration configuration. Refuses: missing_permission
 * 403 (not an OWNER of the team, or another user's personal account), bad_request 400 (an unknown project).
 */
export async function installIntegration(ctx: Acting, grant: InstallationRequest): Promise<string> {
  const { integration, account, userId, projects } = grant
  await mustBeInstaller(ctx, account, userId)
  if (projects !== 'all') await mustBeProjects(ctx, account.id, projects)
  const before = await readInstallationOn(ctx.db, integration.id, account.id)
  if (before !== undefined) await lockInstallationWrites(ctx.db, [before.id])
  const id = await upsertInstallation(ctx, grant)
  if (before !== undefined && pendingScopes(integration, before).length > 0) {
    emitScopesConfirmed(ctx, { id, scopes: scopesOf(integration) }, account)
  }
  await ctx.db.deleteFrom('configuration_project').where('configuration_id', '=', id).execute()
  for (const slice of projects === 'all' ? [] : chunks([...new Set(projects)])) {
    const rows = slice.map((project_id) => ({ configuration_id: id, project_id }))
    await ctx.db.insertInto('configuration_project').values(rows).execute()
  }
  return id
}

/** OWNERs install on a team, the user on a personal account. docs/spec/decisions.md: Roles. */
async function mustBeInstaller(ctx: Acting, account: EventAccount, userId: string): Promise<void> {
  if (account.kind === 'user' && account.id === userId) return
  if (account.kind === 'team' && (await membership(ctx, account.id, userId)) === 'OWNER') return
  refuse(
    'missing_permission',
    'Only an OWNER of a team can install an integration on it. On a personal account only its user can.',
  )
}

async function mustBeProjects(ctx: Acting, accountId: string, ids: string[]): Promise<void> {
  if (ids.length === 0)
    refuse('bad_request', 'Invalid request: `projects` should be "all" or name at least one project.')
  const existing = new Set<string>()
  for (const slice of chunks([...new Set(ids)])) {
    const rows = await ctx.db
      .selectFrom('project')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', 'in', slice)
      .execute()
    for (const row of rows) existing.add(row.id)
  }
  const unknown = ids.find((id) => !existing.has(id))
  if (unknown !== undefined) {
    refuse(
      'bad_request',
      `Invalid request: \`projects\` names "${unknown.slice(0, 100)}", which the account does not have.`,
    )
  }
}

/** A partial unique index allows one installation per integration and account, so a second consent renews the first. */
async function upsertInstallation(ctx: Acting, grant: InstallationRequest): Promise<string> {
  const { integration, account, userId, projects } = grant
  const consented = {
    user_id: userId,
    scopes_json: integration.scopes_json,
    project_selection: projects === 'all' ? 'all' : 'selected',
    source: 'external',
    updated_at: ctx.now,
  } as const satisfies Partial<Installation>
  const row = await ctx.db
    .insertInto('configuration')
    .values({
      ...consented,
      id: newId('icfg'),
      integration_id: integration.id,
      account_id: account.id,
      created_stamp: ctx.stamp,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['integration_id', 'account_id'])
        .where('deleted_at', 'is', null)
        .doUpdateSet({
          ...consented,
          resumed_at: sql<number>`case when configuration.disabled_at is null then configuration.resumed_at else cast(${ctx.now} as bigint) end`,
          disabled_at: null,
          disabled_reason: null,
        }),
    )
    .returning('id')
    .executeTakeFirstOrThrow()
  await mustFit(ctx, 'installations', account.id)
  return row.id
}

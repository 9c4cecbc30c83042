/** Consent given: an installation of an integration on an account, and the code that the integration exchanges. docs/integrations.md: Installing again renews. */
import { sql } from 'kysely'
import type { EventOwner, Input, OperatorCtx } from '../context.ts'
import { slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import { fingerprint, newCode, newId } from '../ids.ts'
import type { NewInstallation } from '../integrations/schema.ts'
import { membership } from '../members/members.ts'
import { refuse } from '../refusal.ts'
import { pendingScopes, tellConfirmed } from './scope-change.ts'

/** Specification: Limits. */
const CODE_VALID_MS = 30 * 60_000

type Place = Pick<OperatorCtx, 'db' | 'deps' | 'now' | 'stamp' | 'emit'>

export type WantedInstallation = {
  integration: Row<'integration'>
  /** Who consents, and owns the installation. */
  userId: string
  account: EventOwner
  projects: 'all' | string[]
  source?: Row<'configuration'>['source']
  /** PKCE (S256), when the integration began it. */
  codeChallenge?: string | null
}

/**
 * Installs an integration with all that it asks for, and gives the code to exchange. Where it is installed already, the same
 * installation is renewed: scopes, projects and owner are as consented now, and a disabled one acts again. Scopes that waited
 * for a confirmation are confirmed by it, and the installation hears of that. Specification: Integration configuration. Refuses:
 * missing_permission 403 (not an OWNER of the team; another person's account), bad_request 400 (a project that is not the account's).
 */
export async function installIntegration(
  ctx: Place,
  wanted: WantedInstallation,
): Promise<{ installationId: string; code: string }> {
  const { integration, account, userId, projects } = wanted
  await mustBeInstaller(ctx, account, userId)
  if (projects !== 'all') await mustBeProjects(ctx, account.id, projects)
  const before = await liveInstallation(ctx, integration.id, account.id)
  const installationId = await putInstallation(ctx, wanted)
  if (before !== undefined && pendingScopes(integration, before).length > 0) {
    tellConfirmed(ctx, { id: installationId, scopes: JSON.parse(integration.scopes_json) }, account)
  }
  await ctx.db.deleteFrom('configuration_project').where('configuration_id', '=', installationId).execute()
  for (const slice of projects === 'all' ? [] : slices([...new Set(projects)])) {
    const rows = slice.map((project_id) => ({ configuration_id: installationId, project_id }))
    await ctx.db.insertInto('configuration_project').values(rows).execute()
  }
  const code = newCode()
  await ctx.db
    .insertInto('authorization_code')
    .values({
      hash: fingerprint(code),
      configuration_id: installationId,
      integration_id: integration.id,
      user_id: userId,
      redirect_uri: integration.redirect_url,
      code_challenge: wanted.codeChallenge ?? null,
      expires_at: ctx.now + CODE_VALID_MS,
    })
    .execute()
  return { installationId, code }
}

/** The operator's word for a consent. Refuses besides: unknown_user 400, unknown_team 400. */
export async function installWithoutBrowser(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  { body }: Input<unknown, NewInstallation>,
) {
  const user = await ctx.db.selectFrom('account').select('kind').where('id', '=', body.userId).executeTakeFirst()
  if (user?.kind !== 'user') refuse('unknown_user', `There is no user "${body.userId}".`)
  const id = body.teamId ?? body.userId
  const account = await ctx.db.selectFrom('account').select(['id', 'kind']).where('id', '=', id).executeTakeFirst()
  if (account === undefined || (body.teamId !== undefined && account.kind !== 'team')) {
    refuse('unknown_team', `There is no team "${id}".`)
  }
  const wanted = { integration, userId: body.userId, account, projects: body.projects }
  const { installationId, code } = await installIntegration(ctx, wanted)
  return { configurationId: installationId, code }
}

/** Installations of a team are its owners' affair; a personal account is its user's. docs/spec/decisions.md: Roles. */
async function mustBeInstaller(ctx: Place, account: EventOwner, userId: string): Promise<void> {
  if (account.kind === 'user' && account.id === userId) return
  if (account.kind === 'team' && (await membership(ctx, account.id, userId)) === 'OWNER') return
  refuse(
    'missing_permission',
    'Only an OWNER of a team installs integrations on it, and on a personal account its user.',
  )
}

async function mustBeProjects(ctx: Place, accountId: string, ids: string[]): Promise<void> {
  if (ids.length === 0)
    refuse('bad_request', 'Invalid request: `projects` should be "all" or name at least one project.')
  const known = new Set<string>()
  for (const slice of slices([...new Set(ids)])) {
    const rows = await ctx.db
      .selectFrom('project')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', 'in', slice)
      .execute()
    for (const row of rows) known.add(row.id)
  }
  const unknown = ids.find((id) => !known.has(id))
  if (unknown !== undefined) {
    refuse(
      'bad_request',
      `Invalid request: \`projects\` names "${unknown.slice(0, 100)}", which the account does not have.`,
    )
  }
}

function liveInstallation(ctx: Place, integrationId: string, accountId: string) {
  return ctx.db
    .selectFrom('configuration')
    .select(['id', 'scopes_json'])
    .where('integration_id', '=', integrationId)
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** One live installation of an integration an account: the partial unique index says so, and a second consent renews it. */
async function putInstallation(ctx: Place, wanted: WantedInstallation): Promise<string> {
  const { integration, account, userId, projects, source = 'external' } = wanted
  const consented = {
    user_id: userId,
    scopes_json: integration.scopes_json,
    project_selection: projects === 'all' ? 'all' : 'selected',
    source,
    updated_at: ctx.now,
  } as const
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
  return row.id
}

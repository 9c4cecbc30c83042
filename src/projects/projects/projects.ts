/** Projects: create, find, list, update, delete, and the data cache switch. Specification: operations 1 to 5 and 8. */
import { isIPv4 } from 'node:net'
import type { Static } from 'typebox'
import type { Ctx, EventContext, Input, Params } from '../../context.ts'
import { changeProject, findProject } from '../../model/project.ts'
import { mustBeName } from '../../model/project-name.ts'
import { mergeSettings, type Settings, type SettingsBody } from '../../model/project-settings.ts'
import { guard } from '../../platform/access/guards.ts'
import { newId } from '../../platform/base/ids.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { createFirstEnv } from '../env/project-env.ts'
import { linkColumns } from '../links/connect.ts'
import { showBypass } from './bypass.ts'
import { mustHavePassword, type PreparedProject, withoutPassword } from './password.ts'
import { type CreateProject, type Project, showProject, type UpdateDataCache, type UpdateProject } from './schema.ts'

/**
 * Creates a project. Refuses: invalid_project_name 400, missing_permission 403 (a project-limited token), project_name_taken 409
 * (decided by the unique index), bad_request 400, and what `mustFit` and `createFirstEnv` does.
 */
export async function createProject(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, CreateProject>,
  { hash, connected }: PreparedProject,
): Promise<Project> {
  const { name, environmentVariables, gitRepository: __, passwordProtection = null, ...fields } = body
  mustBeName(name)
  if (ctx.caller.projectIds !== null && ctx.caller.installationId === null) {
    refuse('missing_permission', 'This token is limited to some projects and cannot create one.')
  }
  mustBeAddresses(fields)
  const { defaultNodeVersion: nodeVersion } = ctx.deps.config
  const settings = mergeSettings({}, { nodeVersion, ...fields }, ctx.now)
  const [row] = await insertProject(ctx.db, {
    id: newId('prj'),
    accountId: ctx.account.id,
    name,
    gitForkProtection: fields.gitForkProtection === false ? 0 : 1,
    settings: JSON.stringify({
      ...settings,
      ...(passwordProtection && { passwordProtection: withoutPassword(passwordProtection) }),
    }),
    passwordHash: hash ?? null,
    now: ctx.now,
    stamp: ctx.stamp,
  })
  if (row === undefined) refuse('project_name_taken', `A project named "${name}" already exists.`)
  await mustFit(ctx, 'projects', ctx.account.id)
  for (const { created } of ctx.deps.projectHooks) await created?.(ctx, row)
  ctx.emit('project.created', { project: { id: row.id, name: row.name } }, row.id)
  await createFirstEnv(ctx, row, environmentVariables ?? [])
  const project = connected ? await changeProject(ctx, row, linkColumns(ctx, connected)) : row
  if (environmentVariables?.length) return readProjectReply(ctx, project)
  // A new project without variables needs no further reads.
  const ahead = { idOrName: project.id, project, variables: [] }
  return readProjectReply({ ...ctx, caller: { ...ctx.caller, prefetched: ahead } }, project)
}

/** Builds the response for a project with the fields of other features. */
export async function readProjectReply(ctx: Ctx, row: Row<'project'>): Promise<Project> {
  const reply = showProject(row, ctx.account)
  for (const { show } of ctx.deps.projectHooks) if (show) Object.assign(reply, await show(ctx, row))
  const protectionBypass = await showBypass(ctx, row)
  return protectionBypass === undefined ? reply : { ...reply, protectionBypass }
}

/** Finds a project to pause or unpause; the specification returns 400 here. Refuses: unknown_project 400. */
export async function findProjectToPause(ctx: Ctx, params: Params): Promise<Row<'project'>> {
  try {
    return await findProject(ctx, params)
  } catch (error) {
    if (error instanceof Refusal && error.key === 'not_found') refuse('unknown_project', error.message)
    throw error
  }
}

/** Protection that the plan includes; it can always be turned off. docs/spec/decisions.md: Plans and billing. */
export const protectionInPlan = guard(
  ['protection_addon_required', 'advanced_protection_unavailable', 'trusted_ips_enterprise_only'],
  (ctx: Ctx, _: unknown, input) => {
    const body = input.body as UpdateProject
    const enterprise = ctx.account.plan === 'enterprise'
    if (body.trustedIps && !enterprise) refuse('trusted_ips_enterprise_only')
    const hasAddOn = ctx.account.addOns.includes('advanced-deployment-protection')
    if (body.passwordProtection && !enterprise && !hasAddOn) {
      refuse('protection_addon_required')
    }
    if (body.ssoProtection?.deploymentType === 'all' && ctx.account.plan === 'hobby' && !hasAddOn)
      refuse('advanced_protection_unavailable')
  },
)

/** Changes the fields in the body. Refuses: invalid_project_name 400, project_name_taken 409, bad_request 400. */
export async function updateProject(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, UpdateProject>,
  newHash: string | undefined,
): Promise<Project> {
  const { name = project.name, passwordProtection, ...fields } = body
  if (name !== project.name) mustBeName(name)
  mustBeAddresses(fields)
  const settings = mergeSettings(JSON.parse(project.settings_json) as Settings, fields, ctx.now)
  // A concurrent request may have removed the protection and its password since `prepare`.
  if (passwordProtection && newHash === undefined) mustHavePassword(project)
  if (passwordProtection !== undefined) {
    settings.passwordProtection = withoutPassword(passwordProtection)
  }
  const row = await changeProject(ctx, project, {
    name,
    settings_json: JSON.stringify(settings),
    ...(fields.gitForkProtection !== undefined && { git_fork_protection: fields.gitForkProtection ? 1 : 0 }),
    // An explicit value wins: a promote no longer undoes the switch of a rollback.
    ...(fields.autoAssignCustomDomains !== undefined && { auto_assign_off_at: null }),
    ...(newHash !== undefined && { password_hash: newHash }),
    ...(passwordProtection === null && { password_hash: null }),
  })
  if (name !== project.name) {
    ctx.emit('project.renamed', { project: { id: row.id, name }, previousName: project.name }, row.id)
  }
  return readProjectReply(ctx, row)
}

/** Deletes a project with all its data: domains, variables, deployments and more (src/project-hooks.ts). */
export async function deleteProject(ctx: Ctx, project: Row<'project'>): Promise<void> {
  const about: EventContext = { projectId: project.id }
  for (const { remove } of ctx.deps.projectHooks) await remove?.(ctx, project, about)
  await ctx.db.deleteFrom('project').where('account_id', '=', project.account_id).where('id', '=', project.id).execute()
  ctx.emit('project.removed', { project: { id: project.id, name: project.name } }, about)
}

/** Enables or disables the data cache. Specification: operation 8. */
export async function updateDataCache(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof UpdateDataCache>>,
): Promise<Project> {
  if (body.disabled === undefined) return readProjectReply(ctx, project)
  return readProjectReply(
    ctx,
    await changeProject(ctx, project, { data_cache_disabled_at: body.disabled ? ctx.now : null }),
  )
}

/** IPv4 or IPv4 CIDR, as the edge matches them. */
function mustBeAddresses({ trustedIps }: SettingsBody): void {
  for (const [at, { value }] of (trustedIps?.addresses ?? []).entries()) {
    const [, address = '', bits = '32'] = /^([\d.]+)(?:\/(\d{1,2}))?$/.exec(value) ?? []
    if (isIPv4(address) && Number(bits) <= 32) continue
    refuse(
      'bad_request',
      `Invalid request: \`trustedIps.addresses.${at}.value\` should be an IPv4 address or an IPv4 CIDR.`,
    )
  }
}

/** Returns no row if the name is taken. */
const insertProject = preparedQuery<
  {
    id: string
    accountId: string
    name: string
    gitForkProtection: number
    settings: string
    passwordHash: string | null
    now: number
    stamp: number
  },
  Row<'project'>
>((db, value) =>
  db
    .insertInto('project')
    .values({
      id: value.id,
      account_id: value.accountId,
      name: value.name,
      git_fork_protection: value.gitForkProtection,
      settings_json: value.settings,
      password_hash: value.passwordHash,
      created_at: value.now,
      updated_stamp: value.stamp,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll(),
)

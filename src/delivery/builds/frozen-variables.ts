/** Variables of a project as a create finds them, kept sealed for its build and its functions. docs/building.md: Environment. */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Deps, OperatorCtx } from '../../context.ts'
import { showSettings } from '../../model/project-settings.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, openSecretBoxToWrite, type SecretBox } from '../../platform/secrets/data-keys.ts'
import { bypassOf } from '../../platform/verdict/protection.ts'
import type { Target } from '../../projects/env/schema.ts'
import { readVariables, type Variable } from '../../projects/env-files/variables.ts'
import { addRoom, roomFor } from '../uploads/usage.ts'
import { type CreateEnv, openCreateEnv, sealCreateEnv } from './create-env.ts'

/** The system variable with the bypass secret of the project that is chosen for deployments. docs/edge.md: Who sees bypass secrets. */
export const BYPASS_VARIABLE = 'VERCEL_AUTOMATION_BYPASS_SECRET'

/** A value as it is sealed for its row. `box`: the project whose key it has. Of type `bypass`: a secret as its project has it. */
type FrozenVariable = {
  key: string
  type: Row<'env_var'>['type'] | 'bypass'
  box: string
  id: string
  version: number
  sealed: string
}

type ReadCtx = { db: Queries; deps: Deps }
type WriteCtx = Pick<OperatorCtx, 'db' | 'deps'>
type Shown = Pick<Row<'deployment'>, 'id' | 'custom_environment_id' | 'target' | 'git_branch'>

/** Of all variables of a deployment together. */
const MAX_BYTES = 512 * 1024

/**
 * Keeps the variables that a deployment gets, in its transaction, and returns the id of their row. Deployments without variables of
 * their own share one while those of the project do not change. Refuses: bad_request 400 (more than 512 KiB), budget_used_up 409,
 * internal_server_error 500 (a shared variable does not open).
 */
export async function freezeEnvironment(
  ctx: WriteCtx,
  project: Row<'project'>,
  deployment: Shown,
  created: CreateEnv,
): Promise<number> {
  const variables = await readVariables(ctx, project, targetOf(deployment), deployment.git_branch ?? '')
  const sealedEnv = await sealCreateEnv(ctx, project.id, deployment.id, created)
  const { hidesSystem, hasSkewProtection } = systemSettingsOf(project)
  const flags = { hides_system: Number(hidesSystem), skew_protection: Number(hasSkewProtection) }
  const bypass = bypassVariables(project)
  const content = sealedEnv === null ? contentOf(variables, bypass, Object.values(flags)) : deployment.id
  const there = await ctx.db
    .updateTable('frozen_env')
    .set({ refs: sql<number>`refs + 1` })
    .where('project_id', '=', project.id)
    .where('content', '=', content)
    .returning('id')
    .executeTakeFirst()
  if (there !== undefined) return Number(there.id)
  const frozen = [...(await freezeEach(ctx, project.id, variables)), ...bypass]
  const text = JSON.stringify(frozen)
  if (text.length > MAX_BYTES)
    refuse(
      'bad_request',
      `Invalid request: the variables of this deployment have more than ${MAX_BYTES / 1024} KiB together, sealed. Remove some from the project, or unlink shared ones.`,
    )
  const isNone = sealedEnv === null && frozen.length === 0
  const bytes = isNone ? 0 : roomFor(text.length + (sealedEnv?.length ?? 0))
  const of = { account_id: project.account_id, project_id: project.id, content }
  const { id, refs } = await ctx.db
    .insertInto('frozen_env')
    .values({ ...of, variables_json: text, sealed_env: sealedEnv, ...flags, bytes, refs: 1 })
    // Another create may have been first.
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'content']).doUpdateSet({ refs: sql<number>`frozen_env.refs + 1` }),
    )
    .returning(['id', 'refs'])
    .executeTakeFirstOrThrow()
  if (refs === 1 && bytes > 0) await addRoom(ctx, project.account_id, bytes)
  return Number(id)
}

type SystemSettings = { hidesSystem: boolean; hasSkewProtection: boolean }

function systemSettingsOf({ settings_json }: Row<'project'>): SystemSettings {
  const { autoExposeSystemEnvs, skewProtectionMaxAge } = showSettings(settings_json)
  return { hidesSystem: autoExposeSystemEnvs === false, hasSkewProtection: Number(skewProtectionMaxAge) > 0 }
}

function targetOf({ custom_environment_id, target }: Shown): Target {
  return (custom_environment_id ?? target) as Target
}

/** The bypass secret that deployments get, if one is chosen. */
function bypassVariables(project: Row<'project'>): FrozenVariable[] {
  const chosen = bypassOf(project).filter(({ isEnvVar }) => isEnvVar)
  return chosen.map(({ hash, sealed }) => ({
    key: BYPASS_VARIABLE,
    type: 'bypass',
    box: project.id,
    id: hash,
    version: 0,
    sealed,
  }))
}

/** Names the variables by their rows and versions, never by their values. */
function contentOf(
  variables: readonly Variable[],
  bypass: readonly FrozenVariable[],
  flags: readonly number[],
): string {
  const named = variables.map(({ key, type, boxId, row }) => [key, type, boxId, row.id, row.value_version])
  return createHash('sha256')
    .update(JSON.stringify([...flags, ...named, ...bypass.map(({ id }) => id)]))
    .digest('hex')
}

/** Shared variables are sealed again, with the key of the project: it may leave the account, whose key may go. */
async function freezeEach(ctx: WriteCtx, projectId: string, variables: readonly Variable[]): Promise<FrozenVariable[]> {
  const isShared = variables.some(({ boxId }) => boxId !== projectId)
  const box = isShared ? await openSecretBoxToWrite(ctx, projectId) : undefined
  return variables.map(({ key, type, boxId, row, open }) => {
    const { id, value_version: version } = row
    const again = () => box!.seal(id, version, open() ?? refuse('internal_server_error'))
    return { key, type, box: projectId, id, version, sealed: boxId === projectId ? row.sealed_value : again() }
  })
}

export type OpenedEnvironment = SystemSettings & {
  variables: OpenedVariable[]
  bypass: string | undefined
  created: CreateEnv
}

/** A variable of a deployment, opened. */
export type OpenedVariable = Pick<FrozenVariable, 'key' | 'type'> & { value: string }

/**
 * Returns the variables of a deployment: those of its project, its bypass secret, and those of its create. A deployment of an earlier version has the
 * present ones of its project, and its present settings. Undefined where one does not open; the log has the reason.
 */
export async function openEnvironment(
  ctx: ReadCtx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
): Promise<OpenedEnvironment | undefined> {
  const created = await readCreatedEnv(ctx, deployment)
  const row = await rowOf(ctx, deployment)
  const text = row?.variables_json ?? null
  const frozen = text === null ? bypassVariables(project) : (JSON.parse(text) as FrozenVariable[])
  const present = text === null ? await openPresent(ctx, project, deployment) : []
  const opened = await openFrozen(ctx, frozen)
  if (created === undefined || present === undefined || opened === undefined) return undefined
  const variables = [...present, ...opened.filter(({ type }) => type !== 'bypass')]
  const bypass = opened.find(({ type }) => type === 'bypass')?.value
  const settings = row && { hidesSystem: row.hides_system === 1, hasSkewProtection: row.skew_protection === 1 }
  return { variables, bypass, created, ...(settings ?? systemSettingsOf(project)) }
}

/** Returns the variables and commit facts that came with the create of a deployment. Undefined where they do not open. */
export async function readCreatedEnv(ctx: ReadCtx, deployment: Row<'deployment'>): Promise<CreateEnv | undefined> {
  const sealed = (await rowOf(ctx, deployment))?.sealed_env ?? null
  return openCreateEnv(ctx, deployment.project_id, deployment.id, sealed)
}

function rowOf({ db }: ReadCtx, { env_id }: Row<'deployment'>): Promise<Row<'frozen_env'> | undefined> {
  return db
    .selectFrom('frozen_env')
    .selectAll()
    .where('id', '=', env_id ?? -1)
    .executeTakeFirst()
}

async function openFrozen(ctx: ReadCtx, frozen: readonly FrozenVariable[]): Promise<OpenedVariable[] | undefined> {
  const boxes = new Map<string, SecretBox>()
  const opened: OpenedVariable[] = []
  for (const { key, type, box: name, id, version, sealed } of frozen) {
    const box = boxes.get(name) ?? (await openSecretBox(ctx, name))
    boxes.set(name, box)
    const isBypass = type === 'bypass'
    const value = isBypass ? box.openSecret('protection-bypass', id, sealed) : box.open(id, version, sealed)
    if (value === undefined) return undefined
    opened.push({ key, type, value })
  }
  return opened
}

async function openPresent(ctx: ReadCtx, project: Row<'project'>, row: Shown): Promise<OpenedVariable[] | undefined> {
  const opened: OpenedVariable[] = []
  for (const { key, type, open } of await readVariables(ctx, project, targetOf(row), row.git_branch ?? '')) {
    const value = open()
    if (value === undefined) return undefined
    opened.push({ key, type, value })
  }
  return opened
}

/** Records in the audit log that a lease gives the variables of a project to a runner, in the transaction of the lease. */
export async function recordVariableRead(ctx: OperatorCtx, build: Row<'build'>): Promise<void> {
  const frozen = await ctx.db
    .selectFrom('deployment')
    .innerJoin('frozen_env', 'frozen_env.id', 'deployment.env_id')
    .select(sql<number>`case when variables_json = '[]' then 1 else 0 end`.as('isNone'))
    .where('deployment.id', '=', build.deployment_id)
    .executeTakeFirst()
  if (frozen?.isNone === 1) return
  await appendAuditEntry(ctx, {
    stamp: ctx.stamp,
    account_id: build.account_id,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'leaseBuild',
    subject_id: build.deployment_id,
    fields_json: JSON.stringify([build.is_production === 1 ? 'production' : 'preview']),
    project_id: build.project_id,
  })
}

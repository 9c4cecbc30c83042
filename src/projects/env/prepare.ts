/**
 * Plans changes of many variables before the transaction, which blocks other writers. Decryption, comparison and encryption
 * happen outside. The transaction uses the plan if nothing changed; otherwise it plans again, and reuses the values of unchanged
 * variables.
 */
import type { Ctx } from '../../context.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { type PreparedSecretBox, prepareSecretBox, type SecretBox } from '../../platform/secrets/data-keys.ts'

/** A plan from before its transaction. `ids`: of the variables to create, in request order. */
export type PreparedPlan<Plan> = {
  ids: readonly string[]
  box: PreparedSecretBox
  state: string | undefined
  plan: Plan | undefined
}

/** Fewer variables are planned in the transaction, which takes a fraction of a millisecond. */
const PREPARED_FROM = 20
/** For more variables, detecting changes costs more than planning again. */
const MAX_LOOKED_AT = 4000

/** Plans a change for all `ids`. Refuses nothing, since the data may be outdated when the transaction begins; then there is no plan. */
export async function preparePlan<Plan>(
  ctx: Ctx,
  project: Row<'project'>,
  ids: readonly string[],
  make: (box: SecretBox) => Promise<Plan>,
): Promise<PreparedPlan<Plan> | undefined> {
  if (ids.length < PREPARED_FROM) return undefined
  const box = await prepareSecretBox(ctx, project.id)
  // Read the state before the plan reads anything, so that a concurrent change is detected.
  const state = await stateOf(ctx, project)
  return { ids, box, state, plan: await undefinedIfRefused(() => make(box.box)) }
}

/** Returns the prepared plan, or a new one. `box`: the secret box of the transaction. */
export async function planOf<Plan>(
  ctx: Ctx,
  project: Row<'project'>,
  box: SecretBox,
  prepared: PreparedPlan<Plan> | undefined,
  make: () => Promise<Plan>,
): Promise<Plan> {
  if (prepared?.plan === undefined || prepared.state === undefined || prepared.box.box !== box) return make()
  return prepared.state === (await stateOf(ctx, project)) ? prepared.plan : make()
}

/** Returns the result of `work`, or undefined if it refuses. */
export async function undefinedIfRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/**
 * Everything that a plan depends on except the request: caller, account rules, environments and variables. The id and version of
 * a variable suffice, since every change creates a version. The usage covers shared variables. Undefined for too many variables.
 */
async function stateOf(ctx: Ctx, project: Row<'project'>): Promise<string | undefined> {
  const { userId, installationId, permissions } = ctx.caller
  const rows = await selectVersions(ctx.db, { projectId: project.id, limit: MAX_LOOKED_AT + 1 })
  if (rows.length > MAX_LOOKED_AT) return undefined
  const versions = rows.map(({ id, version }) => `${id} ${version}`)
  const usages = await ctx.db
    .selectFrom('env_usage')
    .select(['target', 'variables', 'bytes'])
    .where('project_id', '=', project.id)
    .orderBy('target')
    .execute()
  const rules = [ctx.account.sensitiveEnv, project.id, project.custom_environments_json]
  return JSON.stringify([userId, installationId, [...permissions].sort(), rules, versions, usages])
}

const selectVersions = preparedQuery<{ projectId: string; limit: number }, Pick<Row<'env_var'>, 'id' | 'version'>>(
  (db, value) =>
    db
      .selectFrom('env_var')
      .select(['id', 'version'])
      .where('project_id', '=', value.projectId)
      .orderBy('id')
      .limit(value.limit),
)

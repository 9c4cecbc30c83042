/**
 * Planning the change of many variables before its transaction, which holds up other writers while it lasts: values are opened, compared and
 * sealed outside. Inside, the plan counts if nothing that it rests on has changed; otherwise it is made anew, and only values of variables
 * that have changed are opened and sealed again.
 */
import type { Ctx } from '../../context.ts'
import { preparedQuery } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { type PreparedSecretBox, prepareSecretBox, type SecretBox } from '../../platform/secrets/data-keys.ts'

/** A plan that was made before its transaction. `ids`: of the variables that it makes, in the order in which they were asked for. */
export type PreparedPlan<Plan> = {
  ids: readonly string[]
  box: PreparedSecretBox
  state: string | undefined
  plan: Plan | undefined
}

/** Fewer variables than these are planned within their transaction: it takes a fraction of a millisecond. */
const PREPARED_FROM = 20
/** In a project of more variables, looking whether one has changed costs more than planning again. */
const MAX_LOOKED_AT = 4000

/**
 * Plans the change of so many variables as `ids` has. Nobody is refused here, since what was read may be old when the transaction begins:
 * then there is no plan.
 */
export async function preparePlan<Plan>(
  ctx: Ctx,
  project: Row<'project'>,
  ids: readonly string[],
  make: (box: SecretBox) => Promise<Plan>,
): Promise<PreparedPlan<Plan> | undefined> {
  if (ids.length < PREPARED_FROM) return undefined
  const box = await prepareSecretBox(ctx, project.id)
  // Before the plan reads anything: a change that comes in between then makes a difference.
  const state = await stateOf(ctx, project)
  return { ids, box, state, plan: await undefinedIfRefused(() => make(box.box)) }
}

/** The plan that was prepared, or a new one. `box`: the one that the transaction opened. */
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

/** Gives what `work` does, or undefined where it refuses. */
export async function undefinedIfRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/**
 * All that a plan rests on, beside the request: who asks, the rules of the account, the environments of the project, and its variables. Of these
 * id and version say enough: every change makes a new version. What they add up to counts the shared variables too. Undefined where they are too many.
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

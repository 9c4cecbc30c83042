/** The environment of the functions of a deployment. docs/functions.md: Environment. */
import type { Deps } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { Target } from '../../projects/env/schema.ts'
import { readVariables } from '../../projects/env-files/variables.ts'
import { openCreateEnv } from '../builds/create-env.ts'
import { systemVariables } from '../builds/environment.ts'

type Texts = Record<string, string>

/** Returns the variables of the functions of a deployment: of its project, of its create, and those of Berth. Undefined where a value does not open; the log has the reason. */
export async function environmentOfFunctions(
  { db, ...deps }: Deps,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
): Promise<Texts | undefined> {
  const ctx = { db: db.read, deps: { db, ...deps } }
  const sealed = await sealedEnvOf(ctx.db, deployment.id)
  const created = await openCreateEnv(ctx, project.id, deployment.id, sealed)
  if (created === undefined) return undefined
  const target = (deployment.custom_environment_id ?? deployment.target) as Target
  const { CI: _, ...system } = await systemVariables(ctx, project, deployment, created.git)
  const env: Texts = {}
  for (const { key, type, open } of await readVariables(ctx, project, target, deployment.git_branch ?? '')) {
    const value = open()
    if (value === undefined) return undefined
    // A variable of type `system` names the system variable whose value it has.
    env[key] = type === 'system' ? (system[value] ?? '') : value
  }
  return { ...env, ...created.env, ...system }
}

/** The variables of the create, which its build keeps. A prebuilt output has none. */
async function sealedEnvOf(db: Queries, deploymentId: string): Promise<string | null> {
  const build = await db
    .selectFrom('build')
    .select('sealed_env')
    .where('deployment_id', '=', deploymentId)
    .executeTakeFirst()
  return build?.sealed_env ?? null
}

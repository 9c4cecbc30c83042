/** The environment of the functions of a deployment. docs/functions.md: Environment. */
import type { Deps } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mergeVariables, systemVariables } from '../builds/environment.ts'
import { openEnvironment } from '../builds/frozen-variables.ts'

type Texts = Record<string, string>

/** Returns the variables of the functions of a deployment: of its project, of its create, and those of Berth. `masked`: keys of secrets. Undefined where a value does not open; the log has the reason. */
export async function environmentOfFunctions(
  { db, ...deps }: Deps,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
): Promise<{ env: Texts; masked: string[] } | undefined> {
  const ctx = { db: db.read, deps: { db, ...deps } }
  const opened = await openEnvironment(ctx, project, deployment)
  if (opened === undefined) return undefined
  const { variables, created, hidesSystem } = opened
  const { CI: _, ...system } = await systemVariables(ctx, project, deployment, opened)
  return mergeVariables(variables, system, created.env, hidesSystem ? {} : system)
}

/** The variables of a target: one function for pulls and builds. docs/variables.md; docs/building.md: Environment. */
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import { type Target, targetsIn } from '../env/schema.ts'
import { readSharedOf } from '../shared-env/shared-env.ts'

type Columns = Pick<Row<'env_var'>, 'type' | 'targets' | 'configuration_id'>
type Sealed = Pick<Row<'env_var'>, 'id' | 'key' | 'value_version' | 'sealed_value'>

/** `open`: its value; undefined where it does not open. `boxId`: the project or account with whose key it is sealed. */
export type Variable = {
  key: string
  type: Row<'env_var'>['type']
  row: Columns & Sealed
  boxId: string
  open(): string | undefined
}

/**
 * Returns the variables that a deployment of a target gets, sealed until they are opened. Branch variables override general ones, which
 * override shared ones. `isVisible`: whether the caller sees one; one that is not visible overrides nothing.
 */
export async function readVariables(
  ctx: Pick<OperatorCtx, 'db' | 'deps'> & { secrets?: { decrypted: boolean } },
  project: Pick<Row<'project'>, 'id' | 'account_id'>,
  target: Target,
  gitBranch: string,
  isVisible: (row: Columns) => boolean = () => true,
): Promise<Variable[]> {
  const rows = await ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('git_branch', 'in', ['', gitBranch])
    .orderBy('git_branch')
    .orderBy('key')
    .execute()
  const shared = await readSharedOf(ctx, project.id, target)
  const boxOfProject = await openSecretBox(ctx, project.id)
  const boxOfAccount = await openSecretBox(ctx, project.account_id)
  const chosen = new Map<string, Variable>()
  const add = (row: Columns & Sealed, boxId: string, box: typeof boxOfProject) =>
    chosen.set(row.key, {
      key: row.key,
      type: row.type,
      row,
      boxId,
      open: () => box.open(row.id, row.value_version, row.sealed_value),
    })
  for (const row of shared) if (isVisible(row)) add(row, project.account_id, boxOfAccount)
  for (const row of rows) if (targetsIn(row).includes(target) && isVisible(row)) add(row, project.id, boxOfProject)
  return [...chosen.values()]
}

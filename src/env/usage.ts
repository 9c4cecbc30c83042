/** What the variables of a project add up to, per target: one row each, so that asking for the limit costs the same at 1,000 variables as at none. */
import { prepared, type Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { MOST_VARIABLES, targetsIn } from './schema.ts'

/** Of the values alone: one value of the largest size fits. */
const MOST_BYTES = 64 * 1024
/** The `target` under which variables are counted that are in no environment. */
export const UNASSIGNED = ''

/** Additions and removals by target, to be held against what is there and then written. */
export type Usage = Map<string, { variables: number; bytes: number }>

/** The places where a variable counts: its targets, or, of one that is in no environment, the place of those. */
export function countedIn(row: Pick<Row<'env_var'>, 'targets'>): readonly string[] {
  const targets = targetsIn(row)
  return targets.length > 0 ? targets : [UNASSIGNED]
}

/** Adds (or, with -1, takes away) a variable of these targets and this size. */
export function tally(usage: Usage, targets: readonly string[], bytes: number, sign: 1 | -1 = 1): void {
  for (const target of targets) {
    const { variables, bytes: before } = usage.get(target) ?? { variables: 0, bytes: 0 }
    usage.set(target, { variables: variables + sign, bytes: before + sign * bytes })
  }
}

/** What the project holds now. */
export async function readUsage(ctx: { db: Queries }, projectId: string): Promise<Usage> {
  const rows = await selectUsage(ctx.db, { projectId })
  return new Map(rows.map(({ target, variables, bytes }) => [target, { variables, bytes }]))
}

/** Whether so many variables (one) of these targets, of so many bytes together, fit beside what is there. */
export function fits(usage: Usage, targets: readonly string[], bytes: number, variables = 1): boolean {
  return targets.every((target) => {
    const held = usage.get(target) ?? { variables: 0, bytes: 0 }
    return held.variables + variables <= MOST_VARIABLES && held.bytes + bytes <= MOST_BYTES
  })
}

/** Writes the changes. The transaction that read what was there and writes this is serializable: nobody was between. */
export async function writeUsage(ctx: { db: Queries }, projectId: string, changes: Usage): Promise<void> {
  for (const [target, { variables, bytes }] of changes) {
    if (variables === 0 && bytes === 0) continue
    await addUsage(ctx.db, { projectId, target, variables, bytes })
  }
}

const selectUsage = prepared<{ projectId: string }, Row<'env_usage'>>((db, value) =>
  db.selectFrom('env_usage').selectAll().where('project_id', '=', value.projectId),
)

const addUsage = prepared<{ projectId: string; target: string; variables: number; bytes: number }, unknown>(
  (db, value) =>
    db
      .insertInto('env_usage')
      .values({ project_id: value.projectId, target: value.target, variables: value.variables, bytes: value.bytes })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'target']).doUpdateSet((eb) => ({
          variables: eb('env_usage.variables', '+', eb.ref('excluded.variables')),
          bytes: eb('env_usage.bytes', '+', eb.ref('excluded.bytes')),
        })),
      ),
)

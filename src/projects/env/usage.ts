/** Variable usage of a project: one row per target, so that the limit check has constant cost. */

import { preparedQuery, type Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { MAX_VARIABLES, targetsIn } from './schema.ts'

/** The most bytes of all values: one value of the largest size fits. */
const MAX_BYTES = 64 * 1024
/** The `target` that counts variables without an environment. */
const UNASSIGNED = ''

type Sum = { variables: number; bytes: number }
export type Usage = Map<string, Sum>
type Counted = Pick<Row<'env_var'>, 'targets' | 'value_bytes'>

const NOTHING: Sum = { variables: 0, bytes: 0 }

/** Returns the current usage of a project. */
export async function readUsage(ctx: { db: Queries }, projectId: string): Promise<Usage> {
  const rows = await selectUsage(ctx.db, { projectId })
  return new Map(rows.map(({ target, variables, bytes }) => [target, { variables, bytes }]))
}

/** Returns the usage difference of changes. */
export function differenceOf(changes: readonly { before?: Counted | undefined; after?: Counted | undefined }[]): Usage {
  const difference: Usage = new Map()
  for (const { before, after } of changes) {
    if (before?.targets === after?.targets && before?.value_bytes === after?.value_bytes) continue
    if (before !== undefined) count(difference, before, -1)
    if (after !== undefined) count(difference, after, 1)
  }
  return difference
}

function count(usage: Usage, { targets, value_bytes }: Counted, sign: 1 | -1): void {
  const named = targetsIn({ targets })
  for (const target of named.length > 0 ? named : [UNASSIGNED]) {
    add(usage, target, { variables: sign, bytes: sign * value_bytes })
  }
}

function add(usage: Usage, target: string, { variables, bytes }: Sum): void {
  const used = usage.get(target) ?? NOTHING
  usage.set(target, { variables: used.variables + variables, bytes: used.bytes + bytes })
}

/** Adds a difference if the result is within the limits; returns whether it did. A target that does not grow may stay above its limit. */
export function addIfFits(usage: Usage, difference: Usage): boolean {
  for (const [target, change] of difference) {
    const used = usage.get(target) ?? NOTHING
    if (isOver(change, { variables: used.variables + change.variables, bytes: used.bytes + change.bytes })) return false
  }
  for (const [target, change] of difference) add(usage, target, change)
  return true
}

function isOver(change: Sum, after: Sum): boolean {
  const grows = change.variables > 0 || change.bytes > 0
  return grows && (after.variables > MAX_VARIABLES || after.bytes > MAX_BYTES)
}

/** Writes a usage difference, also under concurrent calls. Refuses: env_limit 400 (a target that grows is over its limit afterwards). */
export async function writeUsage(ctx: { db: Queries }, projectId: string, difference: Usage): Promise<void> {
  for (const [target, change] of difference) {
    if (change.variables === 0 && change.bytes === 0) continue
    const [after] = await addUsage(ctx.db, { projectId, target, ...change })
    if (isOver(change, after!)) refuse('env_limit')
  }
}

const selectUsage = preparedQuery<{ projectId: string }, Row<'env_usage'>>((db, value) =>
  db.selectFrom('env_usage').selectAll().where('project_id', '=', value.projectId),
)

const addUsage = preparedQuery<{ projectId: string; target: string } & Sum, Sum>((db, value) =>
  db
    .insertInto('env_usage')
    .values({ project_id: value.projectId, target: value.target, variables: value.variables, bytes: value.bytes })
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'target']).doUpdateSet((eb) => ({
        variables: eb('env_usage.variables', '+', eb.ref('excluded.variables')),
        bytes: eb('env_usage.bytes', '+', eb.ref('excluded.bytes')),
      })),
    )
    .returning(['variables', 'bytes']),
)

/** Permissions to see, read and change a variable. docs/variables.md: Permissions; docs/spec/reliability.md T6, T31. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Caller, Ctx } from '../../context.ts'
import { permit } from '../../platform/access/authenticate.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import type { SecretBox } from '../../platform/secrets/data-keys.ts'
import { targetsIn, type ValueView } from './schema.ts'

/** Checks the permission for production variables. Refuses: missing_permission 403. */
export function mustHaveTargetPermission(caller: Caller, targets: readonly string[]): void {
  if (targets.includes('production')) permit(caller, ['env:production'])
}

/** Checks the permission to change an existing variable of production, or of another creator. Refuses: missing_permission 403. */
export function mustHaveWritePermission(
  caller: Caller,
  row: Pick<Row<'env_var'>, 'targets' | 'configuration_id'>,
): void {
  mustHaveTargetPermission(caller, targetsIn(row))
  if (row.configuration_id !== caller.installationId) permit(caller, ['env:write-all'])
}

/** Returns whether the caller may write, and `mustHaveWritePermission` would pass. */
export function canWriteVariable({ permissions, installationId }: Caller, row: Row<'env_var'>): boolean {
  if (!permissions.has('env:write')) return false
  if (targetsIn(row).includes('production') && !permissions.has('env:production')) return false
  return row.configuration_id === installationId || permissions.has('env:write-all')
}

/** Returns whether the caller may decrypt a variable: production ones need the production permission. */
export function canDecrypt({ permissions }: Caller, targets: readonly string[]): boolean {
  if (!permissions.has('env:decrypt')) return false
  return !targets.includes('production') || permissions.has('env:production')
}

/** Returns whether the caller reads a value: `plain` and `system` always, `sensitive` never, others if requested and allowed. */
export function canReadValue(ctx: Ctx, row: Row<'env_var'>, isDecrypt: boolean): boolean {
  if (row.type === 'sensitive') return false
  return row.type === 'plain' || row.type === 'system' || (isDecrypt && canDecrypt(ctx.caller, targetsIn(row)))
}

/** Returns a value for its reader. Without a secret box it stays hidden. */
export function readValue(ctx: Ctx, box: SecretBox | undefined, row: Row<'env_var'>, isDecrypt: boolean): ValueView {
  if (box === undefined || !canReadValue(ctx, row, isDecrypt)) return 'hidden'
  const clear = box.open(row.id, row.value_version, row.sealed_value)
  if (clear === undefined) return 'broken'
  if (isDecrypt) ctx.recordSecretRead(targetsIn(row))
  return { clear }
}

/** Returns whether pull and export include the value of a variable for this caller. `plain` values are visible to all readers. */
export function isReadable(caller: Caller, row: Pick<Row<'env_var'>, 'type' | 'targets'>): boolean {
  if (row.type === 'sensitive' || row.type === 'system') return false
  return row.type === 'plain' || canDecrypt(caller, targetsIn(row))
}

/** Returns whether the caller sees a variable. Without `env:all`, an integration sees its own, and a user those of users. */
export function isVisible(caller: Caller, row: Pick<Row<'env_var'>, 'configuration_id'>): boolean {
  return caller.permissions.has('env:all') || row.configuration_id === caller.installationId
}

/** Returns the condition of `isVisible` for a query. */
export function visibleTo(caller: Caller) {
  return (eb: ExpressionBuilder<Schema, 'env_var'>): Expression<SqlBool> => {
    if (caller.permissions.has('env:all')) return eb.lit(true)
    if (caller.installationId === null) return eb('env_var.configuration_id', 'is', null)
    return eb('env_var.configuration_id', '=', caller.installationId)
  }
}

/** Returns the user or installation for `createdBy` and `updatedBy`. */
export function actorId(ctx: Ctx): string {
  return ctx.caller.installationId ?? ctx.caller.userId
}

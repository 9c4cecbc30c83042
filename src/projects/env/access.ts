/** Who may see, read and change a variable. docs/variables.md: Who may what; docs/spec/reliability.md T6, T31. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Caller, Ctx } from '../../context.ts'
import { permit } from '../../platform/access/authenticate.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import type { SecretBox } from '../../platform/secrets/data-keys.ts'
import { targetsIn, type ValueView } from './schema.ts'

/** Refuses: missing_permission 403, when a variable of production is touched by someone without the right to. */
export function mustHaveTargetPermission(caller: Caller, targets: readonly string[]): void {
  if (targets.includes('production')) permit(caller, ['env:production'])
}

/**
 * Refuses: missing_permission 403, when a variable that is there may not be changed: of production without the right to it, or
 * made by another without the right to those. An installation that reads all variables and writes its own must not write all.
 */
export function mustHaveWritePermission(
  caller: Caller,
  row: Pick<Row<'env_var'>, 'targets' | 'configuration_id'>,
): void {
  mustHaveTargetPermission(caller, targetsIn(row))
  if (row.configuration_id !== caller.installationId) permit(caller, ['env:write-all'])
}

/** Whether `mustHaveWritePermission` would let the caller, and writing at all. */
export function canWriteVariable({ permissions, installationId }: Caller, row: Row<'env_var'>): boolean {
  if (!permissions.has('env:write')) return false
  if (targetsIn(row).includes('production') && !permissions.has('env:production')) return false
  return row.configuration_id === installationId || permissions.has('env:write-all')
}

/** Whether the caller may read the value of a variable in clear: those of production need the right to production. */
export function canDecrypt({ permissions }: Caller, targets: readonly string[]): boolean {
  if (!permissions.has('env:decrypt')) return false
  return !targets.includes('production') || permissions.has('env:production')
}

/** Whether the caller reads a value: `plain` and `system` always, others when asked for and allowed, `sensitive` never. */
export function canReadValue(ctx: Ctx, row: Row<'env_var'>, isDecrypt: boolean): boolean {
  if (row.type === 'sensitive') return false
  return row.type === 'plain' || row.type === 'system' || (isDecrypt && canDecrypt(ctx.caller, targetsIn(row)))
}

/** A value for its reader. Without a secret box it stays hidden. */
export function readValue(ctx: Ctx, box: SecretBox | undefined, row: Row<'env_var'>, isDecrypt: boolean): ValueView {
  if (box === undefined || !canReadValue(ctx, row, isDecrypt)) return 'hidden'
  const clear = box.open(row.id, row.value_version, row.sealed_value)
  if (clear === undefined) return 'broken'
  if (isDecrypt) ctx.recordSecretRead(targetsIn(row))
  return { clear }
}

/** Whether pull and export carry the value of a variable to this caller. What is `plain` is open to all who see it. */
export function isReadable(caller: Caller, row: Pick<Row<'env_var'>, 'type' | 'targets'>): boolean {
  if (row.type === 'sensitive' || row.type === 'system') return false
  return row.type === 'plain' || canDecrypt(caller, targetsIn(row))
}

/** Without `env:all` a caller has only its own: an integration what it made, a person what people made. */
export function isVisible(caller: Caller, row: Pick<Row<'env_var'>, 'configuration_id'>): boolean {
  return caller.permissions.has('env:all') || row.configuration_id === caller.installationId
}

/** As `isVisible`, for a query. */
export function visibleTo(caller: Caller) {
  return (eb: ExpressionBuilder<Schema, 'env_var'>): Expression<SqlBool> => {
    if (caller.permissions.has('env:all')) return eb.lit(true)
    if (caller.installationId === null) return eb('env_var.configuration_id', 'is', null)
    return eb('env_var.configuration_id', '=', caller.installationId)
  }
}

/** The user or the installation, as `createdBy` and `updatedBy` name them. */
export function actorId(ctx: Ctx): string {
  return ctx.caller.installationId ?? ctx.caller.userId
}

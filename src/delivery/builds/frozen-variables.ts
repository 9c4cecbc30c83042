/** Variables of a project as a create finds them, kept sealed for its build. docs/building.md: Environment. */
import type { Ctx, Deps, OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, type SecretBox } from '../../platform/secrets/data-keys.ts'
import type { Target } from '../../projects/env/schema.ts'
import { readVariables } from '../../projects/env-files/variables.ts'

/** A value as it is sealed in its own row. `box`: the project or account whose key it has. */
type FrozenVariable = {
  key: string
  type: Row<'env_var'>['type']
  box: string
  id: string
  version: number
  sealed: string
}

/** Of all variables of a build together. */
const MAX_BYTES = 512 * 1024

/** Returns the variables that a deployment gets, for its build. Nothing is opened. Refuses: bad_request 400 (more than 512 KiB). */
export async function freezeVariables(
  ctx: Ctx,
  project: Row<'project'>,
  { custom_environment_id, target, git_branch }: Row<'deployment'>,
): Promise<string> {
  const variables = await readVariables(ctx, project, (custom_environment_id ?? target) as Target, git_branch ?? '')
  const frozen = variables.map(({ key, type, boxId, row }): FrozenVariable => {
    return { key, type, box: boxId, id: row.id, version: row.value_version, sealed: row.sealed_value }
  })
  const text = JSON.stringify(frozen)
  if (text.length > MAX_BYTES)
    refuse(
      'bad_request',
      `Invalid request: the variables of this deployment have more than ${MAX_BYTES / 1024} KiB together, sealed. Remove some from the project, or unlink shared ones.`,
    )
  return text
}

/** Opens frozen variables. Undefined where one does not open; the log has the reason. */
export async function openFrozenVariables(
  ctx: { db: Queries; deps: Deps },
  text: string | null,
): Promise<{ key: string; type: FrozenVariable['type']; value: string }[] | undefined> {
  const frozen = JSON.parse(text ?? '[]') as FrozenVariable[]
  const boxes = new Map<string, SecretBox>()
  const opened: { key: string; type: FrozenVariable['type']; value: string }[] = []
  for (const { key, type, box: name, id, version, sealed } of frozen) {
    const box = boxes.get(name) ?? (await openSecretBox(ctx, name))
    boxes.set(name, box)
    const value = box.open(id, version, sealed)
    if (value === undefined) return undefined
    opened.push({ key, type, value })
  }
  return opened
}

/** Records in the audit log that a lease gives the variables of a project to a runner, in the transaction of the lease. */
export async function recordVariableRead(ctx: OperatorCtx, build: Row<'build'>): Promise<void> {
  if (build.variables_json === '[]') return
  await appendAuditEntry(ctx, {
    stamp: ctx.stamp,
    account_id: build.account_id,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'leaseBuild',
    subject_id: build.deployment_id,
    fields_json: JSON.stringify([build.is_production === 1 ? 'production' : 'preview']),
  })
}

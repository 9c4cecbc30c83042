/** Shared reasons to refuse, each a statement that must hold. Order in a route is the order of refusal. */
import type { Caller, Ctx, Guard, Input } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { preparedQuery } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusals/refusal.ts'

/** Operations 1, 4, 6, 10 and 16 answer 402 while the account owes something. docs/spec/decisions.md: Plans and billing. */
export const accountInGoodStanding = guard(
  ['account_soft_blocked', 'payment_method_missing'],
  (ctx: Ctx, _subject: unknown) => {
    if (ctx.account.softBlocked) refuse('account_soft_blocked')
    if (ctx.account.paymentMissing) refuse('payment_method_missing')
  },
)

/**
 * While a project moves to another account nothing in it changes. Specification: Project transfer. For operations that write
 * other rows than the project's: on PostgreSQL its row is held until they commit, so that none of them lands behind the
 * start of a transfer that was answered already (the order that PostgreSQL finds for serializable transactions may differ from that of
 * the clock). The lock is that of a write, because some of these operations write the row in the end.
 */
export const notInTransfer = guard(['in_transfer'], async (ctx: Ctx, subject: OfProject) => {
  const project = projectOf(subject)
  mustNotBeInTransfer(project)
  // Before the transaction a lock would hold nothing, and would wait for other writes.
  if (ctx.deps.db.engine === 'postgres' && ctx.db.isTransaction)
    await holdProject(ctx.db, { accountId: project.account_id, id: project.id })
})

/** As `notInTransfer`, for operations that write the row of the project: two writes of one row never pass each other. */
export const notInTransferUnlocked = guard(['in_transfer'], (_ctx: Ctx, subject: OfProject) =>
  mustNotBeInTransfer(projectOf(subject)),
)

/** A project, or something with the project that it is of: one guard serves both. */
type OfProject = Row<'project'> | { project: Row<'project'> }

function projectOf(subject: OfProject): Row<'project'> {
  return 'project' in subject ? subject.project : subject
}

function mustNotBeInTransfer(project: Row<'project'>): void {
  if (project.transfer_started_at !== null && project.transfer_completed_at === null) refuse('in_transfer')
}

const holdProject = preparedQuery<{ accountId: string; id: string }, { id: string }>((db, value) =>
  db
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', value.accountId)
    .where('id', '=', value.id)
    .forNoKeyUpdate(),
)

/** Whether the caller may see a project of the account. No answer names the id of one that the caller may not see. */
export function canSeeProject({ projectIds }: Pick<Caller, 'projectIds'>, projectId: string): boolean {
  return projectIds === null || projectIds.includes(projectId)
}

/** A token that is limited to some projects changes no integration or installation, since these reach all projects. An installation acts on itself by its scopes. */
export const notLimitedToProjects = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) => {
  if (caller.projectIds !== null && caller.installationId === null) {
    refuse('missing_permission', 'This token is limited to some projects: integrations are the whole account\u2019s.')
  }
})

/** Makes a guard of a check and the refusals it may give. */
export function guard<C, S>(
  refuses: readonly RefusalKey[],
  check: (ctx: C, subject: S, input: Input) => void | Promise<void>,
): Guard<C, S> {
  return Object.assign(check, { refuses })
}

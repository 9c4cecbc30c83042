/** Shared guards. Their order in a route is the order of the errors. */
import type { Caller, Ctx, Guard, Input } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { preparedQuery } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusals/refusal.ts'

/** Operations 1, 4, 6, 10 and 16 return 402 for an account with open invoices. docs/spec/decisions.md: Plans and billing. */
export const accountInGoodStanding = guard(
  ['account_soft_blocked', 'payment_method_missing'],
  (ctx: Ctx, _subject: unknown) => {
    if (ctx.account.softBlocked) refuse('account_soft_blocked')
    if (ctx.account.paymentMissing) refuse('payment_method_missing')
  },
)

/**
 * Blocks changes to a project during its transfer. Specification: Project transfer. For operations that write other rows than the project's. On
 * PostgreSQL the project row stays locked until the commit, so no write lands after the start of a transfer was confirmed. The lock is a write lock
 * because some of these operations write the row later.
 */
export const notInTransfer = guard(['in_transfer'], async (ctx: Ctx, resource: OfProject) => {
  const project = projectOf(resource)
  mustNotBeInTransfer(project)
  // Outside a transaction the lock would end at once and only wait for other writes.
  if (ctx.deps.db.engine === 'postgres' && ctx.db.isTransaction)
    await holdProject(ctx.db, { accountId: project.account_id, id: project.id })
})

/** As `notInTransfer`, for operations that write the project row itself and so conflict on it. */
export const notInTransferUnlocked = guard(['in_transfer'], (_ctx: Ctx, resource: OfProject) =>
  mustNotBeInTransfer(projectOf(resource)),
)

/** A project, or a row with its project. */
type OfProject = Row<'project'> | { project: Row<'project'> }

function projectOf(resource: OfProject): Row<'project'> {
  return 'project' in resource ? resource.project : resource
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

/** Whether the caller can see a project of the account. No response contains the id of a project that the caller cannot see. */
export function canSeeProject({ projectIds }: Pick<Caller, 'projectIds'>, projectId: string): boolean {
  return projectIds === null || projectIds.includes(projectId)
}

/** Returns `canSeeProject` for many projects. A caller may see 10,000, and a search through them for each of 10,000 keeps others waiting. */
export function projectFilter({ projectIds }: Pick<Caller, 'projectIds'>): (projectId: string) => boolean {
  const visible = projectIds && new Set(projectIds)
  return (projectId) => visible === null || visible.has(projectId)
}

/** Project-limited tokens cannot change integrations or installations, because these reach all projects. An installation acts on itself by its scopes. */
export const notLimitedToProjects = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) => {
  if (caller.projectIds !== null && caller.installationId === null) {
    refuse(
      'missing_permission',
      'This token is limited to some projects, but integrations belong to the entire account.',
    )
  }
})

/** Builds a guard from a check and the errors that it can return. */
export function guard<C, S>(
  refuses: readonly RefusalKey[],
  check: (ctx: C, resource: S, input: Input) => void | Promise<void>,
): Guard<C, S> {
  return Object.assign(check, { refuses })
}

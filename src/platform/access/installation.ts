/** The installation behind a token: its grants, its account and its status. Specification: Authentication, States and transitions. */
import { sql } from 'kysely'
import { chunks } from '../db/chunks.ts'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Permission } from '../permissions/roles.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { refuse } from '../refusals/refusal.ts'
import type { Caller } from './who.ts'

/** The fields of `Caller` that an installation sets. */
export type InstallationCaller = Pick<Caller, 'userId' | 'installationId' | 'projectIds'> & {
  permissions: ReadonlySet<Permission>
}

/**
 * Reads the installation of a token. A write on PostgreSQL locks it until the commit, so disabling it, removing it or reducing its scopes waits for
 * writes in flight. Refuses: invalid_token 401 (uninstalled), integration_configuration_disabled 403.
 */
export async function readInstallation(db: Queries, installationId: string): Promise<InstallationCaller> {
  const select = db.isTransaction ? holdInstallation : selectInstallation
  const [row] = await select(db, { installationId })
  if (row === undefined) refuse('invalid_token', undefined, { invalidToken: true })
  if (row.disabled_at !== null) refuse('integration_configuration_disabled')
  const selected = row.project_selection === 'selected' ? await selectProjects(db, { installationId }) : undefined
  return {
    userId: row.user_id,
    installationId,
    projectIds: selected?.length === 0 ? NO_PROJECT : (selected?.map(({ project_id }) => project_id) ?? null),
    // The granted scopes decide. The role of the user who installed it does not limit them.
    permissions: permissionsOf('OWNER', row.scopes_json),
  }
}

/** An id that no project has, for an empty selection: the two engines have no common SQL for an empty list. */
const NO_PROJECT = ['']

const selectInstallation = preparedQuery<{ installationId: string }, InstallationColumns>((db, value) =>
  queryInstallation(db, value.installationId),
)

/** The row lock decides. Without the advisory lock before it, readers that share a row lock would starve a waiting writer. */
const holdInstallation = preparedQuery<{ installationId: string }, InstallationColumns>((db, value) =>
  queryInstallation(db, value.installationId)
    .innerJoin(
      sql<{
        held: unknown
      }>`(select pg_advisory_xact_lock_shared(${sql.lit(LOCKS)}, ${bucketOf(value.installationId)}) as held)`.as(
        'line',
      ),
      (join) => join.onTrue(),
    )
    .forShare('configuration'),
)

function queryInstallation(db: Queries, installationId: string) {
  return db
    .selectFrom('configuration')
    .select(['user_id', 'scopes_json', 'project_selection', 'disabled_at'])
    .where('id', '=', installationId)
    .where('deleted_at', 'is', null)
}

/** Marks these locks among other locks of the database. */
const LOCKS = 0x62657274
/** Number of locks. Bounds the locks taken for a user with many installations. */
const BUCKETS = 256

function bucketOf(id: string | ReturnType<typeof sql.ref>) {
  return sql<number>`(hashtext(${id}) & ${sql.lit(BUCKETS - 1)})`
}

/**
 * Waits for the writes of these installations in flight and blocks new ones until the commit. Call it before they are disabled, removed or lose a
 * scope. SQLite runs writes one at a time anyway.
 */
export async function lockInstallationWrites(db: Queries, installationIds: readonly string[]): Promise<void> {
  if (!db.isTransaction) return
  for (const slice of chunks(installationIds)) {
    const buckets = db
      .selectFrom('configuration')
      .select(bucketOf(sql.ref('id')).as('bucket'))
      .distinct()
      .where('id', 'in', slice)
      .orderBy('bucket')
    await db
      .selectFrom(buckets.as('one'))
      .select(sql`pg_advisory_xact_lock(${sql.lit(LOCKS)}, one.bucket)`.as('held'))
      .execute()
  }
}

/**
 * Call it before a single token of the installation is revoked. Waits as `lockInstallationWrites` does and rewrites the row unchanged. A waiting
 * write that already read the token then fails to serialize (PostgreSQL: 40001), retries and is refused.
 */
export async function abortInstallationWrites(db: Queries, installationId: string): Promise<void> {
  await lockInstallationWrites(db, [installationId])
  await db
    .updateTable('configuration')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('id', '=', installationId)
    .execute()
}

const selectProjects = preparedQuery<{ installationId: string }, { project_id: string }>((db, value) =>
  db.selectFrom('configuration_project').select('project_id').where('configuration_id', '=', value.installationId),
)

type InstallationColumns = {
  user_id: string
  scopes_json: string
  project_selection: 'all' | 'selected'
  disabled_at: number | null
}

/** The installation of an integration behind a token: what it was granted, where, and whether it may act at all. Specification: Authentication, States. */
import type { Who } from '../context.ts'
import { prepared, type Queries } from '../db/db.ts'
import { refuse } from '../errors.ts'
import type { Permission } from './roles.ts'
import { permissionsOf } from './scopes.ts'

/** What an installation adds to who acts. */
export type Installed = Pick<Who, 'userId' | 'configurationId' | 'projectIds'> & {
  permissions: ReadonlySet<Permission>
}

/** Reads the installation of a token. Refuses: invalid_token 401 (uninstalled), integration_configuration_disabled 403. */
export async function readInstallation(db: Queries, configurationId: string): Promise<Installed> {
  const [row] = await selectConfiguration(db, { configurationId })
  if (row === undefined) refuse('invalid_token', undefined, { invalidToken: true })
  if (row.disabled_at !== null) refuse('integration_configuration_disabled')
  const selected = row.project_selection === 'selected' ? await selectProjects(db, { configurationId }) : undefined
  return {
    userId: row.user_id,
    configurationId,
    projectIds: selected?.length === 0 ? NO_PROJECT : (selected?.map(({ project_id }) => project_id) ?? null),
    // What an installation may do was granted to it; it is not bounded by the role of who installed it.
    permissions: permissionsOf('OWNER', row.scopes_json),
  }
}

/** Of an empty selection: an id that no project has, because an empty list is no SQL that both engines take. */
const NO_PROJECT = ['']

const selectConfiguration = prepared<{ configurationId: string }, ConfigurationColumns>(
  (db, value) =>
    db
      .selectFrom('configuration')
      .select(['user_id', 'scopes_json', 'project_selection', 'disabled_at'])
      .where('id', '=', value.configurationId)
      .where('deleted_at', 'is', null),
  { remember: true },
)

const selectProjects = prepared<{ configurationId: string }, { project_id: string }>(
  (db, value) =>
    db.selectFrom('configuration_project').select('project_id').where('configuration_id', '=', value.configurationId),
  { remember: true },
)

type ConfigurationColumns = {
  user_id: string
  scopes_json: string
  project_selection: 'all' | 'selected'
  disabled_at: number | null
}

/** Wire types for a project. Specification: Project; docs/spec/wire.md 2.2 and 4.2 for what every SDK version decodes. */
import type { Static } from 'typebox'
import type { Account } from '../../context.ts'
import { ShownDeployments, showDeployments } from '../../model/deployment-summary.ts'
import { environmentsOf, ShownEnvironment, showEnvironment } from '../../model/environment.ts'
import { GitRepository, Link, linkOf, showLink } from '../../model/link.ts'
import {
  FREE_FORM_SETTINGS,
  MAX_OPEN_SETTINGS,
  MAX_SETTINGS_BYTES,
  type Settings,
  SettingsBody,
  ShownSettings,
  showSettings,
} from '../../model/project-settings.ts'
import { PasswordProtection } from '../../model/setting-schemas.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { AnyObject, Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import { EnvVar, NewVariable } from '../env/schema.ts'
import { ProtectionBypass } from './bypass.ts'

const Name = Type.String({ description: '400 invalid_project_name states the naming rule' })

const NewPassword = Type.Optional(
  Nullable(
    Type.Object({
      ...PasswordProtection.properties,
      password: Type.Optional(Nullable(Type.String({ maxLength: 72 }))),
    }),
  ),
)

export const CreateProject = Type.Object({
  name: Name,
  ...SettingsBody.properties,
  // No stored settings exceed this yet.
  trustedSources: Type.Optional(Nullable(AnyObject(MAX_OPEN_SETTINGS))),
  passwordProtection: NewPassword,
  environmentVariables: Type.Optional(Nullable(Type.Array(NewVariable))),
  gitRepository: Type.Optional(Nullable(GitRepository)),
})
export type CreateProject = Static<typeof CreateProject>

export const UpdateProject = Type.Object({
  name: Type.Optional(Name),
  ...SettingsBody.properties,
  passwordProtection: NewPassword,
})
export type UpdateProject = Static<typeof UpdateProject>

export const UpdateDataCache = Type.Object({ disabled: Type.Optional(Type.Boolean()) })

const Text = Type.Optional(Type.String({ maxLength: 256 }))
export const ListProjectsQuery = Type.Object({
  ...PageQuery,
  from: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'only projects updated after this timestamp; or `next` of the page before',
    }),
  ),
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'as `from`' })),
  search: Text,
  repo: Text,
  repoId: Text,
  repoUrl: Text,
  excludeRepos: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: '`1` or `true`: only projects without a repository; else names of repositories, comma-separated',
    }),
  ),
  gitForkProtection: Type.Optional(OneOf('1', '0')),
  hasProductionDomains: Type.Optional(OneOf('1', 'true', '0', 'false')),
  domain: Type.Optional(
    Type.String({ maxLength: 256, description: 'only projects with this production domain, or with one below it' }),
  ),
  edgeConfigId: Text,
  edgeConfigTokenId: Text,
  deprecated: Type.Optional(Type.Boolean()),
})

const Open = Type.Object({}, { additionalProperties: true })

export const PatchCrons = Type.Object({ enabled: Type.Boolean() })
/** `definitions` is empty: `GET /v1/projects/{idOrName}/crons` lists the jobs. */
export const Crons = Type.Object({
  enabledAt: Timestamp,
  disabledAt: Nullable(Timestamp),
  updatedAt: Timestamp,
  deploymentId: Type.Null(),
  definitions: Type.Array(Open),
})

const Days = Type.Optional(Type.Integer({ description: 'days; 36500: they stay' }))
const DeploymentExpiration = Type.Object({
  expirationDays: Days,
  expirationDaysProduction: Days,
  expirationDaysCanceled: Days,
  expirationDaysErrored: Days,
})

export const Project = Type.Object(
  {
    accountId: Type.String(),
    id: Type.String(),
    name: Type.String(),
    ...ShownSettings,
    alias: Type.Array(Open),
    createdAt: Timestamp,
    customEnvironments: Type.Array(ShownEnvironment),
    dataCache: Type.Object({ userDisabled: Type.Boolean() }),
    crons: Type.Optional(Crons),
    deploymentExpiration: DeploymentExpiration,
    env: Type.Optional(
      Type.Array(EnvVar, { description: 'left out in a list where the variables have more than 300 places' }),
    ),
    gitForkProtection: Type.Boolean(),
    ...ShownDeployments,
    link: Type.Optional(Link),
    paused: Type.Optional(Type.Boolean()),
    pausedAt: Type.Optional(Timestamp),
    pausedBy: Type.Optional(
      Type.String({ description: 'the user or the installation; omitted if another account paused it' }),
    ),
    protectionBypass: Type.Optional(ProtectionBypass),
    transferCompletedAt: Type.Optional(Timestamp),
    transferStartedAt: Type.Optional(Timestamp),
    transferToAccountId: Type.Optional(Type.String()),
    transferredFromAccountId: Type.Optional(Type.String()),
    updatedAt: Timestamp,
  },
  { title: 'Project' },
)
export type Project = Static<typeof Project>

export const ProjectList = Type.Object({ projects: Type.Array(Project), pagination: Pagination })

/** Builds a project in a list, without free-form settings above today's limit, which bounds its size. docs/limits.md. */
export function showProjectInList(row: Row<'project'>, account: Account): Project {
  const reply = showProject(row, account)
  if (row.settings_json.length > MAX_SETTINGS_BYTES)
    for (const name of FREE_FORM_SETTINGS) delete reply[name as keyof Project]
  return reply
}

function showCrons(json: string): Static<typeof Crons> {
  return { ...JSON.parse(json), deploymentId: null, definitions: [] }
}

/** Builds the response for a row of the account; features add fields (src/project-hooks.ts). `paused` is absent until the first pause. */
export function showProject(row: Row<'project'>, account: Account): Project {
  return {
    accountId: row.account_id,
    id: row.id,
    name: row.name,
    ...showSettings(row.settings_json),
    alias: [],
    createdAt: row.created_at,
    customEnvironments: environmentsOf(row).map(showEnvironment),
    dataCache: { userDisabled: row.data_cache_disabled_at !== null },
    ...(row.crons_json !== null && { crons: showCrons(row.crons_json) }),
    deploymentExpiration: row.expiration_json === null ? {} : JSON.parse(row.expiration_json),
    gitForkProtection: row.git_fork_protection === 1,
    ...showDeployments(row.deployments_json, account),
    ...(row.link_json !== null && { link: showLink(linkOf(row)!) }),
    ...(row.paused_at !== null && showPause(row, row.paused_at)),
    ...(row.paused_at === null && row.resumed_at !== null && { paused: false }),
    ...(row.transfer_started_at !== null && { transferStartedAt: row.transfer_started_at }),
    ...(row.transfer_completed_at !== null && { transferCompletedAt: row.transfer_completed_at }),
    ...(row.transfer_to_account_id !== null && { transferToAccountId: row.transfer_to_account_id }),
    ...(row.transferred_from_account_id !== null && { transferredFromAccountId: row.transferred_from_account_id }),
    updatedAt: stampToMs(row.updated_stamp),
  }
}

/** Pause time and actor of a project. Names a user only to the account for which they acted. */
function showPause({ settings_json, ...row }: Row<'project'>, pausedAt: number) {
  const { transferred_from_account_id: from, transfer_completed_at: movedAt } = row
  const { pausedBy } = JSON.parse(settings_json) as Settings
  const isOwn = from === null || movedAt === null || movedAt < pausedAt
  return { paused: true, pausedAt, ...(isOwn && pausedBy !== undefined && { pausedBy }) }
}

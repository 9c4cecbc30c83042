/** Wire types for deployments and promotes. docs/spec/wire.md 6; the shapes that the SDKs of docs/spec/wire.md 4 decode. */
import type { Static } from 'typebox'
import type { Account } from '../../context.ts'
import { AutomaticAliases, Meta, type Names, substateOf } from '../../model/deployment-summary.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { READY_STATES } from '../../platform/db/deployment-tables.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const ReadyState = OneOf(...READY_STATES)
const Upstream = Nullable(
  Type.String({ maxLength: 500, description: 'where the edge sends its visitors: an http or https origin' }),
)

const ErrorMessage = Type.Optional(
  Type.String({ minLength: 1, maxLength: 2000, description: 'why it failed or was canceled, for the pages about it' }),
)

export const NewDeployment = Type.Object({
  url: Type.String({ maxLength: 253, description: 'its own host name, such as web-abc123.apps.example.com' }),
  target: Type.Optional(Nullable(OneOf('production', 'preview'))),
  readyState: ReadyState,
  gitBranch: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 250 }))),
  customEnvironmentId: Type.Optional(
    Nullable(Type.String({ maxLength: 100, description: 'the id or slug of a custom environment of the project' })),
  ),
  meta: Type.Optional(Meta),
  upstream: Type.Optional(Upstream),
  errorMessage: ErrorMessage,
})
export type NewDeployment = Static<typeof NewDeployment>

export const PatchDeployment = Type.Object({
  readyState: Type.Optional(ReadyState),
  upstream: Type.Optional(Upstream),
  errorMessage: ErrorMessage,
})
export type PatchDeployment = Static<typeof PatchDeployment>

const Creator = Type.Object({ uid: Type.String(), username: Type.String() })
const shared = {
  name: Type.String(),
  url: Type.String(),
  projectId: Type.String(),
  createdAt: Timestamp,
  creator: Creator,
  inspectorUrl: Type.Null(),
  buildingAt: Timestamp,
  meta: Meta,
  ready: Type.Optional(Timestamp),
  readyState: ReadyState,
  readySubstate: Type.Optional(OneOf('STAGED', 'PROMOTED')),
  target: Nullable(OneOf('production')),
  customEnvironment: Type.Optional(Type.Object({ id: Type.String() })),
  type: OneOf('LAMBDAS'),
}

const ListedDeployment = Type.Object(
  {
    ...shared,
    uid: Type.String(),
    created: Timestamp,
    state: ReadyState,
    aliasError: Type.Null(),
    isRollbackCandidate: Type.Boolean(),
  },
  { title: 'ListedDeployment' },
)
export const DeploymentList = Type.Object({ deployments: Type.Array(ListedDeployment), pagination: Pagination })

export const Deployment = Type.Object(
  {
    ...shared,
    id: Type.String(),
    alias: Type.Array(Type.String(), { description: 'at most 20 of the names that point to it' }),
    automaticAliases: Type.Optional(AutomaticAliases),
    aliasAssigned: Type.Boolean(),
    bootedAt: Timestamp,
    build: Type.Object({ env: Type.Array(Type.String()) }),
    buildSkipped: Type.Boolean(),
    canceledAt: Type.Optional(Timestamp),
    createdIn: Type.String(),
    errorCode: Type.Optional(Type.String({ description: 'why a build failed: docs/building.md: Errors' })),
    errorMessage: Type.Optional(Type.String({ description: 'the same as a sentence; of a canceled one why' })),
    env: Type.Array(Type.String()),
    gitBranch: Nullable(Type.String()),
    isInConcurrentBuildsQueue: Type.Boolean(),
    isInSystemBuildsQueue: Type.Boolean(),
    ownerId: Type.String(),
    plan: OneOf('hobby', 'pro', 'enterprise'),
    project: Type.Object({ id: Type.String(), name: Type.String(), framework: Type.Null() }),
    projectSettings: Type.Object({}),
    public: Type.Boolean(),
    regions: Type.Array(Type.String()),
    // Without it every SDK decodes the public shape, and drops eleven fields. docs/clients.md: Rationale.
    routes: Type.Null(),
    status: ReadyState,
    team: Type.Optional(Type.Object({ id: Type.String(), name: Type.String(), slug: Type.String() })),
    version: Type.Integer(),
  },
  { title: 'Deployment' },
)
export type Deployment = Static<typeof Deployment>

export const OperatorDeployment = Type.Object({
  id: Type.String(),
  projectId: Type.String(),
  url: Type.String(),
  target: OneOf('production', 'preview'),
  readyState: ReadyState,
  readySubstate: Type.Optional(OneOf('STAGED', 'PROMOTED')),
  gitBranch: Nullable(Type.String()),
  customEnvironmentId: Nullable(Type.String()),
  meta: Meta,
  upstream: Nullable(Type.String()),
  createdAt: Timestamp,
})

/** `url`: its own public host name. */
function showShared(row: Row<'deployment'>, url: string, account: Pick<Account, 'id' | 'slug'>) {
  const createdAt = stampToMs(row.created_stamp)
  return {
    name: row.name,
    url,
    projectId: row.project_id,
    createdAt,
    creator: { uid: account.id, username: account.slug },
    inspectorUrl: null,
    buildingAt: row.building_at ?? createdAt,
    meta: JSON.parse(row.meta_json) as Record<string, string>,
    ...(row.ready_at !== null && { ready: row.ready_at }),
    readyState: row.ready_state,
    ...substateOf(row),
    target: row.target === 'production' ? ('production' as const) : null,
    ...(row.custom_environment_id !== null && { customEnvironment: { id: row.custom_environment_id } }),
    type: 'LAMBDAS' as const,
  }
}

/** Builds a deployment in a list. `url`: its own public host name; `liveId`: the production deployment. */
export function showDeploymentInList(
  row: Row<'deployment'>,
  url: string,
  account: Account,
  liveId: string | null,
): Static<typeof ListedDeployment> {
  return {
    ...showShared(row, url, account),
    uid: row.id,
    created: stampToMs(row.created_stamp),
    state: row.ready_state,
    aliasError: null,
    isRollbackCandidate: row.promoted_at !== null && row.id !== liveId,
  }
}

/** Builds a deployment with the names that point to it. `url`: its own public host name. */
export function showDeployment(row: Row<'deployment'>, url: string, account: Account, names: Names): Deployment {
  const { id, kind, slug, name } = account
  return {
    ...showShared(row, url, account),
    id: row.id,
    ...names,
    // Clients poll until it is true. READY is final, even without names.
    aliasAssigned: row.ready_state === 'READY',
    bootedAt: row.building_at ?? stampToMs(row.created_stamp),
    build: { env: [] },
    buildSkipped: false,
    ...(row.ready_state === 'CANCELED' && row.failed_at !== null && { canceledAt: row.failed_at }),
    createdIn: '',
    ...(row.error_code !== null && { errorCode: row.error_code }),
    ...(row.error_message !== null && { errorMessage: row.error_message }),
    env: [],
    gitBranch: row.git_branch,
    isInConcurrentBuildsQueue: false,
    isInSystemBuildsQueue: false,
    ownerId: id,
    plan: row.plan,
    project: { id: row.project_id, name: row.name, framework: null },
    projectSettings: {},
    public: false,
    regions: [],
    routes: null,
    status: row.ready_state,
    ...(kind === 'team' && { team: { id, name: name ?? slug, slug } }),
    version: 2,
  }
}

/** Builds a deployment for the operator. */
export function showToOperator(row: Row<'deployment'>): Static<typeof OperatorDeployment> {
  return {
    id: row.id,
    projectId: row.project_id,
    url: row.url,
    target: row.target,
    readyState: row.ready_state,
    ...substateOf(row),
    gitBranch: row.git_branch,
    customEnvironmentId: row.custom_environment_id,
    meta: JSON.parse(row.meta_json) as Record<string, string>,
    upstream: row.upstream,
    createdAt: stampToMs(row.created_stamp),
  }
}

/**
 * TABLE Events: name → description (`when`), required permissions of an installation (`needs`; it always receives its own
 * `integration-configuration.*`), payload schema, and whether it is sent while the receiving installation is disabled (the four of the specification's
 * Events chapter). `team.id` is null on a personal account. The OpenAPI document and the pages at /docs use it.
 */
import type { Static, TObject } from 'typebox'
import type { Permission } from './platform/permissions/roles.ts'
import { Type } from './platform/schema/builder.ts'
import { Nullable, OneOf } from './platform/schema/fields.ts'

const by = {
  team: Type.Object(
    { id: Nullable(Type.String()) },
    { description: 'the team whose event it is; `id` is null on a personal account' },
  ),
  user: Type.Object(
    { id: Nullable(Type.String()) },
    { description: 'who made the change; `id` is null when it was not a user of the account' },
  ),
}
const project = Type.Object({ id: Type.String(), name: Type.String() })
const domain = Type.Object({
  name: Type.String(),
  apexName: Type.String(),
  verified: Type.Boolean(),
  gitBranch: Nullable(Type.String()),
  redirect: Nullable(Type.String()),
  redirectStatusCode: Nullable(Type.Integer()),
  customEnvironmentId: Nullable(Type.String()),
})
const ofProject = Type.Object({ ...by, project })
const ofDomain = Type.Object({ ...by, project, domain })
const installed = {
  id: Type.String(),
  projectSelection: Type.Union([Type.Literal('all'), Type.Literal('selected')]),
  projects: Type.Array(Type.String(), { description: 'those selected, by id; empty when it is all' }),
}
/** Sent to both accounts, each with its own name of the project. */
const transfer = {
  ...by,
  project,
  fromAccountId: Type.String({ description: 'the account that gives the project' }),
  toAccountId: Type.String({ description: 'the account that gets it' }),
}
/** `need`: the permission that an installation must have. */
function event<Payload extends TObject>(when: string, need: Permission, payload: Payload, sentWhileDisabled = false) {
  return { when, needs: [need] as const, payload, sentWhileDisabled }
}

const envVar = Type.Object({
  id: Type.String(),
  key: Type.String(),
  target: Type.Array(Type.String()),
  customEnvironmentIds: Type.Optional(Type.Array(Type.String())),
})
/** The name and slot of a variable, never its value. */
const ofVariable = Type.Object({
  ...by,
  project,
  envVar,
  envVars: Type.Optional(
    Type.Array(envVar, { description: 'all of them, when one request wrote several; `envVar` is the first' }),
  ),
})
const ofInstallation = { ...by, configuration: Type.Object(installed) }
const ofDeployment = Type.Object({
  ...by,
  deployment: Type.Object({
    id: Type.String(),
    meta: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
    url: Type.String(),
    name: Type.String(),
  }),
  links: Type.Object({ deployment: Type.String(), project: Type.String() }),
  target: Nullable(Type.String()),
  project: Type.Object({ id: Type.String() }),
  plan: Type.String(),
  regions: Type.Array(Type.String()),
})

export const EVENTS = {
  'project.created': event('A project was created.', 'project:read', ofProject, true),
  'project.removed': event('A project was removed.', 'project:read', ofProject, true),
  'project.renamed': event(
    'A project got another name.',
    'project:read',
    Type.Object({ ...ofProject.properties, previousName: Type.String({ description: 'the name before' }) }),
  ),
  'project.transfer.started': event(
    'A transfer of a project to another account began. Both accounts are notified, each with its own name of the project.',
    'project:read',
    Type.Object(transfer),
  ),
  'project.transfer.completed': event(
    'A project arrived at another account. Both accounts are notified.',
    'project:read',
    Type.Object(transfer),
  ),
  'project.transfer.failed': event(
    'A transfer of a project failed, and the project stays where it was. Both accounts are notified.',
    'project:read',
    Type.Object({ ...transfer, reason: OneOf('account_gone', 'name_taken', 'account_full') }),
  ),
  'project.domain.created': event('A domain was added to a project.', 'domain:read', ofDomain),
  'project.domain.updated': event(
    'Settings of a domain were changed.',
    'domain:read',
    Type.Object({
      ...ofDomain.properties,
      previous: Type.Object(domain.properties, { description: 'the domain as it was' }),
    }),
  ),
  'project.domain.deleted': event('A domain was removed from a project.', 'domain:read', ofDomain),
  'project.domain.verified': event('A domain was verified for a project.', 'domain:read', ofDomain),
  'project.domain.unverified': event(
    'Another account verified the name. The previous account is notified, with no user.',
    'domain:read',
    ofDomain,
  ),
  'project.domain.moved': event(
    'A domain moved from one project of the account to another. The event is sent once per project, and names only that project.',
    'domain:read',
    Type.Object({ ...ofDomain.properties, direction: OneOf('in', 'out') }),
  ),
  'project.env-variable.created': event('A variable was created, or several by one request.', 'env:read', ofVariable),
  'project.env-variable.updated': event('A variable was changed, or several by one request.', 'env:read', ofVariable),
  'project.env-variable.deleted': event('A variable was removed, or several by one request.', 'env:read', ofVariable),
  'integration-configuration.removed': event(
    'An installation was removed.',
    'installation:read',
    Type.Object(ofInstallation),
    true,
  ),
  'integration-configuration.scope-change-confirmed': event(
    'A user confirmed the scopes that an integration had requested.',
    'installation:read',
    Type.Object({ ...by, configuration: Type.Object({ id: Type.String(), scopes: Type.Array(Type.String()) }) }),
    true,
  ),
  'integration-configuration.permission-upgraded': event(
    'The projects that an installation may see were changed.',
    'installation:read',
    Type.Object({
      ...ofInstallation,
      projects: Type.Object(
        { added: Type.Array(Type.String()), removed: Type.Array(Type.String()) },
        { description: 'what changed, by id' },
      ),
    }),
  ),
  'integration-configuration.transferred': event(
    'An owner of the team took an installation over.',
    'installation:read',
    Type.Object({ ...ofInstallation, previousUserId: Type.String({ description: 'whose it was before' }) }),
  ),
  'deployment.created': event('A deployment was registered.', 'deployment:read', ofDeployment),
  'deployment.ready': event('A deployment is built.', 'deployment:read', ofDeployment),
  'deployment.succeeded': event(
    'A deployment is built, and has the domains that are its to take.',
    'deployment:read',
    ofDeployment,
  ),
  'deployment.error': event('The build of a deployment failed.', 'deployment:read', ofDeployment),
  'deployment.canceled': event('A deployment was canceled.', 'deployment:read', ofDeployment),
  'deployment.promoted': event('A deployment became the production deployment.', 'deployment:read', ofDeployment),
  'deployment.cleanup': event('A deployment was removed.', 'deployment:read', ofDeployment),
} as const

export type EventName = keyof typeof EVENTS
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[]
/** The payload of an operation; `emit` adds user and team. */
export type EventPayload<E extends EventName> = Omit<Static<(typeof EVENTS)[E]['payload']>, 'team' | 'user'>

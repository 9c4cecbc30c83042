/**
 * TABLE what is told: event -> who may hear it (`needs`: permissions that an installation was granted; its own
 * `integration-configuration.*` it hears always), shape of its payload, and whether it is still sent while the integration
 * configuration that would hear it is disabled (the four of the specification's Events chapter). `team.id` is null on a
 * personal account.
 */
import type { Static } from 'typebox'
import type { Permission } from './permissions/roles.ts'
import { Type } from './schema/builder.ts'
import { Nullable, OneOf } from './schema/fields.ts'

const by = { team: Type.Object({ id: Nullable(Type.String()) }), user: Type.Object({ id: Nullable(Type.String()) }) }
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
const ofDomain = Type.Object({ ...by, project, domain })
const installed = {
  id: Type.String(),
  projectSelection: Type.Union([Type.Literal('all'), Type.Literal('selected')]),
  /** Of a selection; empty when it is all. */
  projects: Type.Array(Type.String()),
}
/** Told to both accounts, each by the name that the project has there. */
const transfer = { ...by, project, fromAccountId: Type.String(), toAccountId: Type.String() }
function needs(...permissions: Permission[]): readonly Permission[] {
  return permissions
}

const envVar = Type.Object({
  id: Type.String(),
  key: Type.String(),
  target: Type.Array(Type.String()),
  customEnvironmentIds: Type.Optional(Type.Array(Type.String())),
})
/** A variable is told by its name and place, never by its value. */
const variable = {
  needs: needs('env:read'),
  sentWhileDisabled: false,
  payload: Type.Object({
    ...by,
    project,
    envVar,
    envVars: Type.Optional(
      Type.Array(envVar, { description: 'all of them, when one request wrote several; `envVar` is the first' }),
    ),
  }),
}

const ofDeployment = {
  needs: needs('deployment:read'),
  sentWhileDisabled: false,
  payload: Type.Object({
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
  }),
}

export const EVENTS = {
  'project.created': {
    needs: needs('project:read'),
    sentWhileDisabled: true,
    payload: Type.Object({ ...by, project }),
  },
  'project.removed': {
    needs: needs('project:read'),
    sentWhileDisabled: true,
    payload: Type.Object({ ...by, project }),
  },
  'project.renamed': {
    needs: needs('project:read'),
    sentWhileDisabled: false,
    payload: Type.Object({ ...by, project, previousName: Type.String() }),
  },
  'project.transfer.started': {
    needs: needs('project:read'),
    sentWhileDisabled: false,
    payload: Type.Object(transfer),
  },
  'project.transfer.completed': {
    needs: needs('project:read'),
    sentWhileDisabled: false,
    payload: Type.Object(transfer),
  },
  /** It stays where it was. */
  'project.transfer.failed': {
    needs: needs('project:read'),
    sentWhileDisabled: false,
    payload: Type.Object({
      ...transfer,
      reason: Type.Unsafe<'account_gone' | 'name_taken'>({ type: 'string', enum: ['account_gone', 'name_taken'] }),
    }),
  },
  'project.domain.created': { needs: needs('domain:read'), sentWhileDisabled: false, payload: ofDomain },
  'project.domain.updated': {
    needs: needs('domain:read'),
    sentWhileDisabled: false,
    payload: Type.Object({ ...ofDomain.properties, previous: domain }),
  },
  'project.domain.deleted': { needs: needs('domain:read'), sentWhileDisabled: false, payload: ofDomain },
  'project.domain.verified': { needs: needs('domain:read'), sentWhileDisabled: false, payload: ofDomain },
  /** Another account proved the name: told to the account that had it, with no user. */
  'project.domain.unverified': { needs: needs('domain:read'), sentWhileDisabled: false, payload: ofDomain },
  /** From one project of the account to another: told once of each, which names that project alone. */
  'project.domain.moved': {
    needs: needs('domain:read'),
    sentWhileDisabled: false,
    payload: Type.Object({ ...ofDomain.properties, direction: OneOf('in', 'out') }),
  },
  'project.env-variable.created': variable,
  'project.env-variable.updated': variable,
  'project.env-variable.deleted': variable,
  'integration-configuration.removed': {
    needs: needs('installation:read'),
    sentWhileDisabled: true,
    payload: Type.Object({ ...by, configuration: Type.Object(installed) }),
  },
  'integration-configuration.scope-change-confirmed': {
    needs: needs('installation:read'),
    sentWhileDisabled: true,
    payload: Type.Object({
      ...by,
      configuration: Type.Object({ id: Type.String(), scopes: Type.Array(Type.String()) }),
    }),
  },
  /** The projects that it may see were changed. */
  'integration-configuration.permission-upgraded': {
    needs: needs('installation:read'),
    sentWhileDisabled: false,
    payload: Type.Object({
      ...by,
      configuration: Type.Object(installed),
      projects: Type.Object({ added: Type.Array(Type.String()), removed: Type.Array(Type.String()) }),
    }),
  },
  /** An owner of the team took it over: `previousUserId` had it before. */
  'integration-configuration.transferred': {
    needs: needs('installation:read'),
    sentWhileDisabled: false,
    payload: Type.Object({ ...by, configuration: Type.Object(installed), previousUserId: Type.String() }),
  },
  'deployment.created': ofDeployment,
  /** It is built. */
  'deployment.ready': ofDeployment,
  /** It is built and has the domains that are its to take. */
  'deployment.succeeded': ofDeployment,
  'deployment.error': ofDeployment,
  'deployment.canceled': ofDeployment,
  /** Somebody made it the one that serves production. */
  'deployment.promoted': ofDeployment,
  /** It was removed. */
  'deployment.cleanup': ofDeployment,
} as const

export type EventName = keyof typeof EVENTS
export const EVENT_NAMES = Object.keys(EVENTS) as EventName[]
/** What an operation says; who and which team are added by `emit`. */
export type EventPayload<E extends EventName> = Omit<Static<(typeof EVENTS)[E]['payload']>, 'team' | 'user'>

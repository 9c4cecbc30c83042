/**
 * TABLE what is told: event -> shape of its payload, and whether it is still sent while the integration configuration
 * that would hear it is disabled (the four of the specification's Events chapter). `team.id` is null on a personal account.
 */
import { type Static, Type } from 'typebox'
import { Nullable } from './http/schema.ts'

const by = { team: Type.Object({ id: Nullable(Type.String()) }), user: Type.Object({ id: Nullable(Type.String()) }) }
const project = Type.Object({ id: Type.String(), name: Type.String() })
const domain = Type.Object({
  name: Type.String(),
  apexName: Type.String(),
  verified: Type.Boolean(),
  gitBranch: Nullable(Type.String()),
  redirect: Nullable(Type.String()),
  redirectStatusCode: Nullable(Type.Integer()),
})
const ofDomain = Type.Object({ ...by, project, domain })
/** A variable is told by its name and place, never by its value. */
const variable = {
  sentWhileDisabled: false,
  payload: Type.Object({
    ...by,
    project,
    envVar: Type.Object({ id: Type.String(), key: Type.String(), target: Type.Array(Type.String()) }),
  }),
}

const ofDeployment = {
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
  'project.created': { sentWhileDisabled: true, payload: Type.Object({ ...by, project }) },
  'project.removed': { sentWhileDisabled: true, payload: Type.Object({ ...by, project }) },
  'project.renamed': {
    sentWhileDisabled: false,
    payload: Type.Object({ ...by, project, previousName: Type.String() }),
  },
  'project.domain.created': { sentWhileDisabled: false, payload: ofDomain },
  'project.domain.updated': {
    sentWhileDisabled: false,
    payload: Type.Object({ ...ofDomain.properties, previous: domain }),
  },
  'project.domain.deleted': { sentWhileDisabled: false, payload: ofDomain },
  'project.domain.verified': { sentWhileDisabled: false, payload: ofDomain },
  /** Another account proved the name: told to the account that had it, with no user. */
  'project.domain.unverified': { sentWhileDisabled: false, payload: ofDomain },
  'project.domain.moved': {
    sentWhileDisabled: false,
    payload: Type.Object({ ...ofDomain.properties, previousProject: project }),
  },
  'project.env-variable.created': variable,
  'project.env-variable.updated': variable,
  'project.env-variable.deleted': variable,
  'deployment.created': ofDeployment,
  /** It is built. */
  'deployment.ready': ofDeployment,
  /** It is built and has the domains that are its to take. */
  'deployment.succeeded': ofDeployment,
  'deployment.error': ofDeployment,
  'deployment.canceled': ofDeployment,
  /** Somebody made it the one that serves production. */
  'deployment.promoted': ofDeployment,
} as const

export type EventName = keyof typeof EVENTS
/** What an operation says; who and which team are added by `emit`. */
export type EventPayload<E extends EventName> = Omit<Static<(typeof EVENTS)[E]['payload']>, 'team' | 'user'>

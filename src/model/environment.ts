/** Custom environments: their wire format, and their column in a project. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import type { Row } from '../platform/db/schema.ts'
import { refuse } from '../platform/refusals/refusal.ts'
import { Type } from '../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../platform/schema/fields.ts'

/** Per project, on every plan. */
export const MAX_ENVIRONMENTS = 12

/** An environment in a query with `target`. docs/custom-environments.md: Variables. */
export const TargetName = Type.String({
  maxLength: 100,
  description: 'production, preview, development, or a custom environment by its slug or id',
})

const BranchMatcher = Type.Object({
  type: OneOf('startsWith', 'equals', 'endsWith'),
  pattern: Type.String({ minLength: 1, maxLength: 100 }),
})
const Slug = Type.String({ description: 'the response 400 invalid_environment_slug has the naming rule' })
const Description = Type.Optional(Nullable(Type.String({ maxLength: 256 })))

export const NewEnvironment = Type.Object({
  slug: Slug,
  description: Description,
  branchMatcher: Type.Optional(Nullable(BranchMatcher)),
  copyEnvVarsFrom: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 100,
        description: 'production, preview, development, or the slug or id of another one',
      }),
    ),
  ),
})
export type NewEnvironment = Static<typeof NewEnvironment>

export const PatchEnvironment = Type.Object({
  slug: Type.Optional(Slug),
  description: Description,
  branchMatcher: Type.Optional(Nullable(BranchMatcher)),
})
export type PatchEnvironment = Static<typeof PatchEnvironment>

export const RemoveEnvironment = Type.Object({
  deleteUnassignedEnvironmentVariables: Type.Optional(
    Type.Boolean({ description: 'also delete the variables that are then in no environment' }),
  ),
})
export type RemoveEnvironment = Static<typeof RemoveEnvironment>

export const EnvironmentsQuery = Type.Object({
  gitBranch: Type.Optional(
    Type.String({ maxLength: 250, description: 'only those whose `branchMatcher` takes this branch' }),
  ),
})
export type EnvironmentsQuery = Static<typeof EnvironmentsQuery>

export const ShownEnvironment = Type.Object(
  {
    id: Type.String(),
    slug: Type.String(),
    name: Type.String({ description: 'the slug: older clients print it' }),
    type: OneOf('preview'),
    description: Type.Optional(Type.String()),
    branchMatcher: Type.Optional(BranchMatcher),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'CustomEnvironment' },
)
export type ShownEnvironment = Static<typeof ShownEnvironment>

export const EnvironmentList = Type.Object({
  environments: Type.Array(ShownEnvironment),
  accountLimit: Type.Object({ total: Type.Integer({ description: 'custom environments that a project may have' }) }),
})

/** The prefix distinguishes it from a slug, which has no underscore. */
export type EnvironmentId = `env_${string}`

export type Environment = {
  id: EnvironmentId
  slug: string
  description: string
  branchMatcher: Static<typeof BranchMatcher> | null
  createdAt: number
  updatedAt: number
}

type Holder = Pick<Row<'project'>, 'custom_environments_json'>

/** Returns the custom environments of a project in creation order. */
export function environmentsOf({ custom_environments_json }: Holder): Environment[] {
  return custom_environments_json === null ? [] : (JSON.parse(custom_environments_json) as Environment[])
}

/** Returns a custom environment of the project by its slug or id, or undefined. */
export function environmentOf(project: Holder, slugOrId: string): Environment | undefined {
  return environmentsOf(project).find(({ id, slug }) => id === slugOrId || slug === slugOrId)
}

/** Returns the environment of a deployment as builders, functions and logs name it: a custom one by its slug, and by its id once it was removed. */
export function environmentName(
  project: Holder,
  { target, custom_environment_id: id }: Pick<Row<'deployment'>, 'target' | 'custom_environment_id'>,
): string {
  return id === null ? target : (environmentOf(project, id)?.slug ?? id)
}

/** Returns the id of the custom environment of `target`. Domains and deployments have no development environment. Refuses: bad_request 400. */
export function customTarget(project: Holder, target: string): string {
  if (target === 'development') return ''
  const found = environmentOf(project, target)
  if (found !== undefined) return found.id
  const names = ['production', 'preview', 'development', ...environmentsOf(project).map(({ slug }) => slug)]
  refuse(
    'bad_request',
    `Invalid request: \`target\` names "${target.slice(0, 100)}", which the project does not have; it has ${names.join(', ')}.`,
  )
}

/** Returns the reply for a custom environment. It omits fields without a value, because they are never null. */
export function showEnvironment(environment: Environment): ShownEnvironment {
  const { id, slug, description, branchMatcher, createdAt, updatedAt } = environment
  return {
    id,
    slug,
    name: slug,
    type: 'preview',
    ...(description !== '' && { description }),
    ...(branchMatcher !== null && { branchMatcher }),
    createdAt,
    updatedAt,
  }
}

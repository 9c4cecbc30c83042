import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { TARGETS } from '../env/schema.ts'

const NAME = '[A-Za-z0-9_-]{1,100}'

export const ImportQuery = Type.Object({
  mode: Type.Optional(OneOf('merge', 'replace')),
  target: Type.String({
    pattern: `^${NAME}(,${NAME}){0,19}$`,
    description:
      'one of production, preview, development and the slugs or ids of custom environments, or several with commas between',
  }),
  gitBranch: Type.Optional(Type.String({ maxLength: 250 })),
  type: Type.Optional(OneOf('plain', 'encrypted', 'sensitive')),
  dryRun: Type.Optional(Type.Boolean({ description: 'return the plan and change nothing' })),
  planDigest: Type.Optional(
    Type.String({ maxLength: 100, description: 'of a dry run: change something only if the plan is still that one' }),
  ),
})
export const EnvFile = Type.String({ description: 'KEY=value lines, as dotenv reads them' })
const SomeKeys = Type.Array(Type.String())
export const ImportAnswer = Type.Object({
  mode: OneOf('merge', 'replace'),
  target: Type.Array(OneOf(...TARGETS)),
  customEnvironmentIds: Type.Array(Type.String()),
  gitBranch: Type.Optional(Type.String()),
  dryRun: Type.Boolean(),
  plan: Type.Object({
    created: SomeKeys,
    updated: SomeKeys,
    removed: SomeKeys,
    unchanged: SomeKeys,
    skipped: Type.Optional(
      Type.Array(Type.String(), {
        description: 'keys of the platform, such as VERCEL_URL: each deployment gets its own',
      }),
    ),
  }),
  planDigest: Type.Optional(
    Type.String({
      description: 'of a dry run: of its plan, and of the versions of the variables that it would change',
    }),
  ),
})

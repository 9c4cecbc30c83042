/** Fields of error bodies in addition to code and message, typed for `refuse` and documented in OpenAPI. */
import type { Static, TSchema } from 'typebox'
import { Type } from '../schema/builder.ts'

/** Build commands of a client, all of one shape. */
function eachCommand<S extends TSchema>(command: S) {
  return { buildCommand: command, devCommand: command, installCommand: command, outputDirectory: command }
}

const about = {
  missingToken: Type.Optional(Type.Boolean()),
  invalidToken: Type.Optional(Type.Boolean()),
  domain: Type.Optional(Type.String({ description: 'the domain of the error' })),
  challenge: Type.Optional(
    Type.Object(
      { type: Type.String(), domain: Type.String(), value: Type.String(), reason: Type.String() },
      { description: 'the record that verifies the domain' },
    ),
  ),
  projectId: Type.Optional(Type.String()),
  project: Type.Optional(Type.Object({ id: Type.String() })),
  key: Type.Optional(Type.String({ description: 'the variable of the error' })),
  envVarKey: Type.Optional(Type.String()),
  envVarId: Type.Optional(Type.String()),
  target: Type.Optional(Type.Array(Type.String())),
  customEnvironmentIds: Type.Optional(Type.Array(Type.String())),
  gitBranch: Type.Optional(Type.String()),
  pendingScopes: Type.Optional(
    Type.Array(Type.String(), { description: 'scopes that await confirmation; confirm exactly this list' }),
  ),
  name: Type.Optional(Type.String({ description: 'the limit that was reached' })),
  limit: Type.Optional(
    Type.Object({ total: Type.Integer(), remaining: Type.Integer(), reset: Type.Integer(), resetMs: Type.Integer() }),
  ),
  projectSettings: Type.Optional(
    Type.Object(
      { framework: Type.Null(), ...eachCommand(Type.Null()) },
      { description: 'what was detected in the files: nothing' },
    ),
  ),
  framework: Type.Optional(
    Type.Object({
      slug: Type.Null(),
      name: Type.String(),
      settings: Type.Object(eachCommand(Type.Object({ placeholder: Type.String() }))),
    }),
  ),
  missing: Type.Optional(Type.Array(Type.String(), { description: 'the SHA-1 of each file to upload' })),
  lines: Type.Optional(
    Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }), {
      description: 'the invalid lines of a text',
    }),
  ),
}

const Extra = Type.Object(about)
export type RefusalExtra = Static<typeof Extra>

/** Every error body. Specification: Errors. */
export const ErrorBody = Type.Object({
  error: Type.Object({ code: Type.String(), message: Type.String(), ...about }),
})

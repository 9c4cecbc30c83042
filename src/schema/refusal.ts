/** What a refusal says beside its code and its sentence, for programs. The OpenAPI document tells it; `refuse` takes nothing else. */
import type { Static } from 'typebox'
import { Type } from './builder.ts'

const about = {
  missingToken: Type.Optional(Type.Boolean()),
  invalidToken: Type.Optional(Type.Boolean()),
  domain: Type.Optional(Type.String({ description: 'the name that it is about' })),
  challenge: Type.Optional(
    Type.Object(
      { type: Type.String(), domain: Type.String(), value: Type.String(), reason: Type.String() },
      { description: 'the record that proves the name' },
    ),
  ),
  projectId: Type.Optional(Type.String()),
  project: Type.Optional(Type.Object({ id: Type.String() })),
  key: Type.Optional(Type.String({ description: 'the variable that it is about' })),
  envVarKey: Type.Optional(Type.String()),
  envVarId: Type.Optional(Type.String()),
  target: Type.Optional(Type.Array(Type.String())),
  customEnvironmentIds: Type.Optional(Type.Array(Type.String())),
  gitBranch: Type.Optional(Type.String()),
  pendingScopes: Type.Optional(
    Type.Array(Type.String(), { description: 'what waits for a confirmation now; confirm exactly this list' }),
  ),
  name: Type.Optional(Type.String({ description: 'the limit that was reached' })),
  limit: Type.Optional(
    Type.Object({ total: Type.Integer(), remaining: Type.Integer(), reset: Type.Integer(), resetMs: Type.Integer() }),
  ),
  lines: Type.Optional(
    Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }), {
      description: 'what a text is refused for',
    }),
  ),
}

const Extra = Type.Object(about)
export type RefusalExtra = Static<typeof Extra>

/** Every error body. Specification: Errors. */
export const ErrorBody = Type.Object({
  error: Type.Object({ code: Type.String(), message: Type.String(), ...about }),
})

/**
 * Forms and replies for OAuth clients. RFC 6749, 7662, 7009; docs/spec/wire.md 3.3. Fields are optional here, because a missing one returns OAuth's
 * invalid_request.
 */

import { Type } from '../../platform/schema/builder.ts'
import { Nullable } from '../../platform/schema/fields.ts'

const Field = Type.Optional(Type.String({ maxLength: 4096 }))
const client = { client_id: Field, client_secret: Field }

export const ExchangeForm = Type.Object({
  ...client,
  code: Field,
  redirect_uri: Field,
  grant_type: Field,
  code_verifier: Field,
})
export const ExchangedToken = Type.Object({
  token_type: Type.String(),
  access_token: Type.String(),
  installation_id: Type.String(),
  user_id: Type.String(),
  team_id: Nullable(Type.String()),
  scope: Type.String({ description: 'the granted scopes, separated by spaces' }),
})

export const TokenForm = Type.Object({ ...client, token: Field, token_type_hint: Field })

export const Introspection = Type.Object({
  active: Type.Boolean(),
  scope: Type.Optional(Type.String()),
  client_id: Type.Optional(Type.String()),
  token_type: Type.Optional(Type.String()),
  iat: Type.Optional(Type.Integer()),
  iss: Type.Optional(Type.String()),
  sub: Type.Optional(Type.String()),
  installation_id: Type.Optional(Type.String()),
  user_id: Type.Optional(Type.String()),
  team_id: Type.Optional(Nullable(Type.String())),
})

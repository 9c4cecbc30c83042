/** The authorization endpoint for OAuth clients. RFC 6749 4.1.1 and 4.1.2.1. */
import type { Static } from 'typebox'
import { withValues } from '../../platform/http/parse-request.ts'
import { type Screen, type ScreenInput, type UserPageCtx, userScreen, type View } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { readIntegration } from '../integrations/integrations.ts'
import { ConsentQuery, consentPath, mustBeRegisteredRedirect, pkceError, redirectTo } from './authorization-request.ts'

const { state, next, redirect_uri, code_challenge, code_challenge_method } = ConsentQuery.properties
const Text = Type.Optional(Type.String({ maxLength: 200 }))

const AuthorizeQuery = Type.Object({
  client_id: Text,
  response_type: Text,
  state,
  next,
  redirect_uri,
  code_challenge,
  code_challenge_method,
})

export const oauthScreens: readonly Screen[] = [
  userScreen({
    method: 'GET',
    path: '/oauth/authorize',
    name: 'authorize',
    query: AuthorizeQuery,
    run: authorize,
  }),
]

/**
 * Redirects to the consent page. Shows an unknown client or a wrong redirect_uri to the user without a redirect; redirects other errors to the
 * client. Refuses: bad_request 400.
 */
async function authorize(ctx: UserPageCtx, input: ScreenInput<Static<typeof AuthorizeQuery>>): Promise<View> {
  const query = withValues(input.query)
  const integration = await readIntegration(ctx.db, { id: query.client_id ?? '' })
  if (integration === undefined)
    refuse('bad_request', 'The client_id is missing or unknown. Contact the developer of the integration.')
  mustBeRegisteredRedirect(integration, query)
  const tellClient = (error: string, fault: string) => ({
    redirectTo: redirectTo(integration, {
      error,
      error_description: fault,
      state: query.state,
      iss: ctx.deps.origin(),
    }),
  })
  if (query.response_type === undefined) return tellClient('invalid_request', 'response_type is missing.')
  if (query.response_type !== 'code') return tellClient('unsupported_response_type', 'response_type must be code.')
  const fault = pkceError(query)
  if (fault !== undefined) return tellClient('invalid_request', fault)
  return { redirectTo: consentPath(integration, query) }
}

/** The authorization endpoint as OAuth clients know it, which leads to the consent page. RFC 6749 4.1.1 and 4.1.2.1. */
import type { Static } from 'typebox'
import { ConsentQuery, challengeFault, consentPath, redirectTo } from '../consent/request.ts'
import type { PersonCtx, ScreenInput, Shown } from '../pages/screen.ts'
import { refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'

const { state, next, redirect_uri, code_challenge, code_challenge_method } = ConsentQuery.properties
const Text = Type.Optional(Type.String({ maxLength: 200 }))

export const AuthorizeQuery = Type.Object({
  client_id: Text,
  response_type: Text,
  state,
  next,
  redirect_uri,
  code_challenge,
  code_challenge_method,
})

/** An unknown client and another redirect_uri are told to the person, never redirected; all else is told to the client. Refuses: bad_request 400. */
export async function authorize(ctx: PersonCtx, { query }: ScreenInput<Static<typeof AuthorizeQuery>>): Promise<Shown> {
  const integration = await ctx.db
    .selectFrom('integration')
    .selectAll()
    .where('id', '=', query.client_id ?? '')
    .executeTakeFirst()
  if (integration === undefined)
    refuse('bad_request', 'The client_id is missing or unknown. Tell whoever sent you here.')
  if (query.redirect_uri !== undefined && query.redirect_uri !== integration.redirect_url) {
    refuse('bad_request', 'The redirect_uri is not the one that the integration has registered. Tell whoever runs it.')
  }
  const told = (error: string, fault: string) => ({
    to: redirectTo(integration, { error, error_description: fault, state: query.state, iss: ctx.deps.origin() }),
  })
  if (query.response_type === undefined) return told('invalid_request', 'response_type is missing.')
  if (query.response_type !== 'code') return told('unsupported_response_type', 'response_type must be code.')
  const fault = challengeFault(query)
  if (fault !== undefined) return told('invalid_request', fault)
  return { to: consentPath(integration, query) }
}

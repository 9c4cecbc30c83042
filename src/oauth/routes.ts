/** The door for apps: a code for a token, and what they ask and say of their tokens. */
import { clientRoute } from '../http/route.ts'
import { CLIENT_REFUSALS } from './client.ts'
import { exchangeCode, refuseReplay } from './exchange.ts'
import { introspectToken, revokeToken } from './introspect.ts'
import { ExchangeForm, GivenToken, Introspected, TokenForm } from './schema.ts'

const tag = 'oauth'

export const oauthRoutes = [
  clientRoute({
    method: 'POST',
    path: '/v2/oauth/access_token',
    operationId: 'exchangeCode',
    summary: 'Exchange the code of an installation for its token',
    tag,
    body: ExchangeForm,
    formBody: true,
    prepare: refuseReplay,
    run: exchangeCode,
    refuses: [...CLIENT_REFUSALS, 'invalid_grant', 'integration_configuration_disabled'],
    status: 200,
    reply: GivenToken,
    noStore: true,
  }),
  clientRoute({
    method: 'POST',
    path: '/v2/oauth/introspect',
    operationId: 'introspectToken',
    summary: 'Say whether a token of the client acts, and what it was granted (RFC 7662)',
    tag,
    body: TokenForm,
    formBody: true,
    run: introspectToken,
    refuses: CLIENT_REFUSALS,
    status: 200,
    reply: Introspected,
    noStore: true,
  }),
  clientRoute({
    method: 'POST',
    path: '/v2/oauth/revoke',
    operationId: 'revokeToken',
    summary: 'End a token of the client (RFC 7009)',
    tag,
    body: TokenForm,
    formBody: true,
    run: revokeToken,
    refuses: CLIENT_REFUSALS,
    status: 200,
    noStore: true,
  }),
]

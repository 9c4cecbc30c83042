import { clientRoute } from '../../platform/http/route.ts'
import { CLIENT_REFUSALS } from './client.ts'
import { exchangeCode, refuseReplay } from './exchange.ts'
import { introspectToken, revokeClientToken } from './introspect.ts'
import { ExchangedToken, ExchangeForm, Introspection, TokenForm } from './schema.ts'

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
    reply: ExchangedToken,
    noStore: true,
  }),
  clientRoute({
    method: 'POST',
    path: '/v2/oauth/introspect',
    operationId: 'introspectToken',
    summary: 'Return whether a token of the client is active, and its scopes (RFC 7662)',
    tag,
    body: TokenForm,
    formBody: true,
    reads: true,
    run: introspectToken,
    refuses: CLIENT_REFUSALS,
    status: 200,
    reply: Introspection,
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
    run: revokeClientToken,
    // A client has no budget of entries, so what it ended alone leaves one.
    auditAs: (ended: { id: string } | undefined) => (ended === undefined ? null : undefined),
    refuses: CLIENT_REFUSALS,
    status: 200,
    noStore: true,
  }),
]

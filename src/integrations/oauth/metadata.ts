/** The metadata document for OAuth clients: RFC 8414. docs/integrations.md: The exchange of codes. */
import type { PublicPage } from '../../platform/http/public-page.ts'
import { SCOPES } from '../../platform/permissions/scopes.ts'

/** Returns the document at its well-known path. `origin`: the service's public address, which is the issuer. */
export function metadataPages(origin: () => string): PublicPage[] {
  return [
    {
      path: '/.well-known/oauth-authorization-server',
      contentType: 'application/json; charset=utf-8',
      body: () => JSON.stringify(metadataOf(origin())),
    },
  ]
}

function metadataOf(issuer: string): object {
  const authentication = ['client_secret_post', 'client_secret_basic']
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/v2/oauth/access_token`,
    token_endpoint_auth_methods_supported: authentication,
    introspection_endpoint: `${issuer}/v2/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: authentication,
    revocation_endpoint: `${issuer}/v2/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: authentication,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: SCOPES.flatMap((scope) => [`read:${scope}`, `read-write:${scope}`]),
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  }
}

/** Messages for requests to unsupported parts of the hosted platform. docs/clients.md: Filters and fields. */
const NO_CANCEL = 'PATCH /v12/deployments/{id}/cancel cancels a build (docs/building.md).'
const NO_FILES = 'POST /v2/files uploads a file, and POST /v13/deployments deploys it (docs/deploying-sites.md).'
const NO_CONTINUE =
  'POST /v13/deployments queues the build at once, so nothing is to be continued (docs/building.md). `vercel deploy --prebuilt` deploys what was built elsewhere.'
const NO_SALE =
  'Berth sells no domains and knows no prices. Register the name elsewhere, then add it to a project (docs/domains.md).'
const NO_LOGS =
  'Of the observability of the hosted platform, Berth has log lines of functions alone: POST /v1/observability/events (docs/functions.md: Log).'
const NO_PROJECT_ROLES =
  'Berth has no project roles and no access groups: a team role applies to every project of the team. PATCH /v1/teams/{teamId}/members/{uid} changes it (docs/accounts.md).'
const NO_CRONS =
  'Berth runs cron jobs by their schedule alone. GET /v1/projects/{idOrName}/crons lists them (docs/functions.md: Cron jobs).'
const NO_CERTS = 'Berth issues no certificates. The proxy in front of the edge gets and renews them (docs/edge.md).'
const NO_DNS =
  'Berth hosts no DNS records. Change them at the DNS provider of the domain; GET /v6/domains/{domain}/config returns the expected ones (docs/domains.md).'
const NO_CONFIG =
  'Berth has no Edge Config or Global Config. Keep such values in variables of the project, or in shared variables (docs/variables.md).'
const NO_FIREWALL =
  'Berth has no firewall. The proxy in front of the edge filters requests, and `trustedIps` of a project limits its visitors (docs/edge.md).'
const NO_FLAGS = 'Berth has no feature flags. Use a service for flags, or variables of the project (docs/variables.md).'
const NO_STAGES =
  'Berth has no rolling releases: one deployment serves production at a time. Promote it, or roll back (docs/deployments.md).'
const NO_PATHS =
  'Berth has no routes and no redirects of single paths. The deployment has its own; a whole domain redirects by `redirect` (docs/domains.md).'
const NO_BILLS =
  'Berth has no billing and no contracts. GET /v1/deployments/{id}/usage returns the traffic of a deployment (docs/deploying-sites.md), /metrics the metrics of the service (docs/operations.md).'
const NO_ALERTS =
  'Berth raises no alerts about what it serves. Alert on what a log drain sends, or on /metrics (docs/operations.md).'
const NO_CHECKS =
  'Berth runs no checks. Run them in your CI, and register the deployment as READY once they pass (docs/deployments.md).'
const NO_VISITS =
  'Berth counts no visits and measures no speed of pages. Use an analytics service in the pages themselves.'
const NO_MARKET =
  'Berth has no marketplace. A team registers its own integrations by POST /v1/integrations/apps, and installs them by consent (docs/integrations.md).'
const NO_STORES =
  'Berth provides no databases and no file stores. Run them elsewhere, and keep their addresses in variables (docs/variables.md).'
const NO_REMOTE_CACHE = 'Berth has no remote cache of builds. Point the build tool at a cache server of your own.'
const NO_PICTURES =
  'Berth purges no pictures by their source. Purge all pages and pictures: POST /v1/edge-cache/purge-all (docs/pictures.md).'
const NO_OIDC =
  'Berth issues no OIDC tokens for projects. Give the build or the function a secret in a variable (docs/variables.md).'
const NO_SECRETS =
  'Berth has no secrets apart from variables. A variable of the type `sensitive` is write-only, and a shared one serves several projects (docs/variables.md).'
const NO_TYPES = 'The types of events are the operationIds of /openapi.json.'
const NO_EVENTS = 'GET /v3/events and GET /v1/activity list the changes in an account (docs/accounts.md: Activity).'
const NO_LINKS = 'Berth has no shareable links. A bypass secret passes the protection (docs/edge.md).'
const OPERATORS_REMOVE =
  'Only the operator of this service removes users and teams: DELETE /operator/v1/users/{userId} and /operator/v1/teams/{teamId} (docs/accounts.md).'
const BY_INVITATION = 'Users join a team by invitation: POST /v1/teams/{teamId}/members (docs/accounts.md).'
const NOT_HERE = 'Berth does not have this part of the hosted platform. docs/clients.md lists what it supports.'

/**
 * TABLE Path → message. A leading word is the one method that it applies to; otherwise it applies to every unsupported method there and below.
 * Without it the CLI reports "POST is not a method", and a price is looked up as a domain named "price".
 */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  '/deployments/:id/cancel': NO_CANCEL,
  '/deployments/:id/files': NO_FILES,
  '/deployments/:id/continue': NO_CONTINUE,
  '/deployments/:id/checks': NO_CHECKS,
  '/deployments/:id/check-runs': NO_CHECKS,
  '/deployments/:id/feature-flags': NO_FLAGS,
  '/deployments/:id/integrations': NO_MARKET,
  'GET /domains/price': NO_SALE,
  'GET /domains/status': NO_SALE,
  'POST /domains/buy': NO_SALE,
  'PATCH /domains/:domain': NO_SALE,
  '/registrar': NO_SALE,
  '/domains/:domain/records': NO_DNS,
  '/domains/records/:recordId': NO_DNS,
  '/certs': NO_CERTS,
  '/api/logs': NO_LOGS,
  '/observability': NO_LOGS,
  '/projects/traces/session': NO_LOGS,
  '/projects/:idOrName/members': NO_PROJECT_ROLES,
  '/projects/:idOrName/access-groups': NO_PROJECT_ROLES,
  '/access-groups': NO_PROJECT_ROLES,
  '/projects/:idOrName/crons/run': NO_CRONS,
  '/projects/:idOrName/checks': NO_CHECKS,
  '/projects/:idOrName/feature-flags': NO_FLAGS,
  '/teams/:idOrSlug/feature-flags': NO_FLAGS,
  '/feature-flags': NO_FLAGS,
  '/flags': NO_FLAGS,
  '/projects/:idOrName/rolling-release': NO_STAGES,
  '/projects/:idOrName/routes': NO_PATHS,
  '/projects/:idOrName/redirects': NO_PATHS,
  '/bulk-redirects': NO_PATHS,
  '/projects/:idOrName/token': NO_OIDC,
  '/secrets': NO_SECRETS,
  '/events/types': NO_TYPES,
  '/projects/:idOrName/avatar': NOT_HERE,
  '/projects/:idOrName/microfrontends': NOT_HERE,
  '/projects/:idOrName/shared-connect-links': NOT_HERE,
  '/projects/:idOrName/rollback/:deploymentId/update-description':
    'A rollback has no description. The audit log shows who requested it (docs/accounts.md).',
  '/edge-config': NO_CONFIG,
  '/global-config': NO_CONFIG,
  '/security': NO_FIREWALL,
  '/billing': NO_BILLS,
  '/usage': NO_BILLS,
  '/contract': NO_BILLS,
  '/alerts': NO_ALERTS,
  '/speed-insights': NO_VISITS,
  '/web-analytics': NO_VISITS,
  '/web': NO_VISITS,
  '/query': NO_VISITS,
  '/integrations/integration': NO_MARKET,
  '/integrations/integrations': NO_MARKET,
  '/integrations/installations': NO_MARKET,
  '/integrations/sso': NO_MARKET,
  '/integrations/configuration/:id/products': NO_MARKET,
  '/integrations/git-namespaces':
    'Berth lists no repositories. Link a project to one by its name: POST /v9/projects/{idOrName}/link (docs/git-links.md).',
  '/integrations/search-repo':
    'Berth lists no repositories. Link a project to one by its name: POST /v9/projects/{idOrName}/link (docs/git-links.md).',
  '/installations': NO_MARKET,
  '/storage': NO_STORES,
  '/artifacts': NO_REMOTE_CACHE,
  '/edge-cache': NO_PICTURES,
  '/events': NO_EVENTS,
  '/aliases/:idOrAlias/protection-bypass': NO_LINKS,
  'DELETE /user': OPERATORS_REMOVE,
  'DELETE /teams/:idOrSlug': OPERATORS_REMOVE,
  '/teams/:idOrSlug/request': BY_INVITATION,
  '/teams/:idOrSlug/dsync-roles':
    'A setting of the operator maps groups of the identity provider to teams (docs/single-sign-on.md).',
  '/teams/:idOrSlug/microfrontends': NOT_HERE,
  '/microfrontends': NOT_HERE,
  '/ai-gateway': NOT_HERE,
  '/api-keys': NOT_HERE,
  '/connect': NOT_HERE,
  '/kms': NOT_HERE,
  '/networking': NOT_HERE,
  '/sandboxes': NOT_HERE,
  '/vcr': NOT_HERE,
}

/** TABLE Paths without routes that return 405 instead of 404. The CLI reports a 404 of `POST /projects/{idOrName}/token` as a missing project. */
export const NEVER_404: readonly string[] = ['/projects/:idOrName/token']

const AREAS = Object.entries(UNSUPPORTED)
  .filter(([at]) => at.startsWith('/'))
  .map(([at, sentence]) => ({ words: at.split('/'), sentence }))
  // The message of a nested path wins.
  .sort((a, b) => b.words.length - a.words.length)

/** Returns the message for an unsupported method of a path or pattern; undefined without one. */
export function sentenceFor(method: string, path: string): string | undefined {
  const exact = UNSUPPORTED[`${method} ${path}`]
  if (exact !== undefined) return exact
  const segments = path.split('/')
  return AREAS.find(
    ({ words }) =>
      words.length <= segments.length &&
      words.every((word, at) => (word.startsWith(':') ? segments[at] !== '' : word === segments[at])),
  )?.sentence
}

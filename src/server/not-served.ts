/** What is asked for and not served: other methods of a path, and what clients know of elsewhere. */
import { Refusal } from '../refusal.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const
type Method = (typeof METHODS)[number]

/**
 * TABLE what clients ask for and Berth is not there for: method and path -> the sentence that people read. Without it the deploy of a CLI
 * ends in "POST is not a method", and a price is looked for in a domain of the name "price".
 */
const NO_BUILD =
  'Berth does not build and takes no files. Your build system builds, and registers what it built by POST /operator/v1/projects/{projectId}/deployments (docs/deployments.md).'
const NO_SALE =
  'Berth sells no domains and knows no prices. Register the name elsewhere, then add it to a project (docs/domains.md).'
const NO_LOGS = 'Berth keeps no logs of what runs. A log drain sends them on (docs/webhooks.md, Log drains).'

const NO_PROJECT_ROLES =
  'Berth has no roles in single projects: a role is of the team, and counts in every project of it. PATCH /v1/teams/{teamId}/members/{uid} changes it (docs/accounts.md).'
const NO_CRONS =
  'Berth runs nothing, so that it starts no cron job. Whoever runs the deployments runs their cron jobs (docs/projects.md).'

const ELSEWHERE: Readonly<Record<string, string>> = {
  'POST /deployments': NO_BUILD,
  'POST /now/deployments': NO_BUILD,
  'POST /files': NO_BUILD,
  'POST /now/files': NO_BUILD,
  'GET /domains/price': NO_SALE,
  'GET /domains/status': NO_SALE,
  'POST /domains/buy': NO_SALE,
  'GET /registrar/domains/:domain/price': NO_SALE,
  'GET /registrar/domains/:domain/availability': NO_SALE,
  'POST /registrar/domains/:domain/buy': NO_SALE,
  'POST /registrar/domains/:domain/transfer': NO_SALE,
  'POST /registrar/domains/availability': NO_SALE,
  'POST /registrar/domains/price': NO_SALE,
  'POST /registrar/domains/search': NO_SALE,
  'GET /api/logs/request-logs': NO_LOGS,
  'POST /projects/:idOrName/members': NO_PROJECT_ROLES,
  'PATCH /projects/:idOrName/members': NO_PROJECT_ROLES,
  'DELETE /projects/:idOrName/members/:uid': NO_PROJECT_ROLES,
  'POST /projects/:idOrName/members/batch': NO_PROJECT_ROLES,
  'DELETE /projects/:idOrName/members/batch': NO_PROJECT_ROLES,
  'POST /projects/:idOrName/crons/run': NO_CRONS,
}

type NotServed = { method: Method[]; url: string; allow?: string; refusal: (method: string) => Refusal }

/**
 * How to refuse it, before a body is read or a token looked at: every path answers 405 with `Allow` to the methods that it does not
 * take, and what has a sentence in the table is told by it.
 */
export function notServed(served: readonly { method: Method; url: string }[]): NotServed[] {
  const urls = new Set(served.map(({ url }) => url))
  const others = [...urls].map((url): NotServed => {
    const methods: Method[] = served.filter((one) => one.url === url).map(({ method }) => method)
    // The server framework answers HEAD wherever there is a GET.
    if (methods.includes('GET')) methods.push('HEAD')
    const allow = methods.join(', ')
    const unknown = (method: string) => `${method} is not a method of this path; it takes ${allow}.`
    return {
      method: METHODS.filter((other) => !methods.includes(other)),
      url,
      allow,
      refusal: (method) => new Refusal('method_unknown', ELSEWHERE[`${method} ${url}`] ?? unknown(method), {}),
    }
  })
  const elsewhere = Object.entries(ELSEWHERE).map(([path, sentence]): NotServed => {
    const [method, url] = path.split(' ') as [Method, string]
    return { method: [method], url, refusal: () => new Refusal('not_found', sentence, {}) }
  })
  return [...others.filter(({ method }) => method.length > 0), ...elsewhere.filter(({ url }) => !urls.has(url))]
}

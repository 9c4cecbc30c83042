/** The deployment that a visitor's page came from, and whether its requests are pinned. docs/deploying-sites.md: Skew protection. */
import { cookiePairs } from '../../platform/verdict/cookie-pairs.ts'
import type { SkewProtection } from '../../platform/verdict/site-settings.ts'
import type { VisitorRequest } from '../router/request.ts'

/** `deploymentId`: undefined if the request is not pinned. `ofAddress`: the one in the address, even if ignored. `isNavigation`: the request opens a page. */
export type PinnedDeployment = {
  deploymentId: string | undefined
  ofAddress: string | undefined
  isNavigation: boolean
}

/** Ids of another form are ignored: a builder may create its own, and a site may use the parameter itself. */
const ID = /^dpl_[0-9A-Za-z]{20,40}$/
const COOKIE = '__vdpl'

/**
 * Returns the deployment that a request is pinned to: `x-deployment-id`, else `?dpl=`, else the first cookie `__vdpl`. Navigation
 * uses the cookie only. Requests from pages of other origins count only if the origin is allowed.
 */
export function readPinnedDeployment(
  { headers, search, host }: VisitorRequest,
  { allowedDomains = [] }: SkewProtection,
): PinnedDeployment {
  const isNavigation = headers.get('sec-fetch-mode') === 'navigate' || headers.get('sec-fetch-dest') === 'document'
  const cookie = idOf(cookiePairs(headers.get('cookie')).find(([name]) => name === COOKIE)?.[1])
  const ofAddress = search.includes('dpl=') ? idOf(new URLSearchParams(search).get('dpl')) : undefined
  if (isNavigation) return { deploymentId: cookie, ofAddress, isNavigation }
  const asker = otherSite(headers, host)
  const canAsk = asker === undefined || allowedDomains.some((domain) => covers(domain, asker))
  const deploymentId = canAsk ? (idOf(headers.get('x-deployment-id')) ?? ofAddress ?? cookie) : undefined
  return { deploymentId, ofAddress, isNavigation }
}

function idOf(text: string | null | undefined): string | undefined {
  return text != null && ID.test(text) ? text : undefined
}

/** The host of the calling page if it has another origin; empty if the browser does not send it. Clients other than browsers send no origin. */
function otherSite(headers: VisitorRequest['headers'], host: string): string | undefined {
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return undefined
  const asker = URL.parse(headers.get('origin') ?? headers.get('referer') ?? '')?.hostname
  if (site === undefined && (asker === undefined || asker === host)) return undefined
  return asker ?? ''
}

/** `*.example.com` covers one label below it, like upstream. */
function covers(domain: string, host: string): boolean {
  if (!domain.startsWith('*.')) return domain === host
  return host.indexOf('.') > 0 && host.slice(host.indexOf('.') + 1) === domain.slice(2)
}

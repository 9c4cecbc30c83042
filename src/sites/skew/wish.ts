/** The deployment that a visitor's page came from, and whether requests for it count. docs/deploying-sites.md: Skew protection. */
import type { SkewProtection } from '../../platform/verdict/site-settings.ts'
import type { VisitorRequest } from '../router/request.ts'

/** `deploymentId`: undefined where none counts. `ofAddress`: the one that the address names, whether it counts or not. `isNavigation`: a page is opened. */
export type PinnedDeployment = {
  deploymentId: string | undefined
  ofAddress: string | undefined
  isNavigation: boolean
}

/** Ids of another form are passed over: a builder may have made one that is its own, and a site may have a parameter of this name. */
const ID = /^dpl_[0-9A-Za-z]{20,40}$/
const COOKIE = /(?:^|;)[ \t]*__vdpl=([^;]*)/

/**
 * The deployment that a request asks for: in `x-deployment-id`, else in `?dpl=`, else in the cookie `__vdpl`, of which the first counts. For a page
 * that is opened the cookie alone counts, and none does for the pages of another origin that may not ask.
 */
export function readPinnedDeployment(
  { headers, search, host }: VisitorRequest,
  { allowedDomains = [] }: SkewProtection,
): PinnedDeployment {
  const isNavigation = headers.get('sec-fetch-mode') === 'navigate' || headers.get('sec-fetch-dest') === 'document'
  const cookie = idOf(COOKIE.exec(headers.get('cookie') ?? '')?.[1]?.trim())
  const ofAddress = search.includes('dpl=') ? idOf(new URLSearchParams(search).get('dpl')) : undefined
  if (isNavigation) return { deploymentId: cookie, ofAddress, isNavigation }
  const asker = otherSite(headers, host)
  const mayAsk = asker === undefined || allowedDomains.some((domain) => covers(domain, asker))
  const deploymentId = mayAsk ? (idOf(headers.get('x-deployment-id')) ?? ofAddress ?? cookie) : undefined
  return { deploymentId, ofAddress, isNavigation }
}

function idOf(text: string | null | undefined): string | undefined {
  return text != null && ID.test(text) ? text : undefined
}

/** The host of the page that asks where it is of another origin; empty where the browser does not say which. A program says nothing, and is no page. */
function otherSite(headers: VisitorRequest['headers'], host: string): string | undefined {
  const site = headers.get('sec-fetch-site')
  if (site === 'same-origin' || site === 'none') return undefined
  const asker = URL.parse(headers.get('origin') ?? headers.get('referer') ?? '')?.hostname
  if (site === undefined && (asker === undefined || asker === host)) return undefined
  return asker ?? ''
}

/** `*.example.com` covers one label below it, as upstream's do. */
function covers(domain: string, host: string): boolean {
  if (!domain.startsWith('*.')) return domain === host
  return host.indexOf('.') > 0 && host.slice(host.indexOf('.') + 1) === domain.slice(2)
}

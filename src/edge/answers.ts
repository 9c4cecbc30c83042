/** What the edge answers: the operations behind the paths of the listener. docs/edge.md says what a proxy makes of each. */

import type { Hosts } from './hosts.ts'
import { PAGE_HEADERS, type PageKind, pageOf } from './page.ts'
import { judge, type Verdict, type Visitor } from './verdict.ts'

export type Answer = { status: number; headers: Record<string, string>; body: string }

/** While a project is paused, programs that ask again wait this long. */
const PAUSED_RETRY_SECONDS = '300'
const MOMENT_SECONDS = '1'

/** `check` as Caddy's forward_auth, Traefik's ForwardAuth and Envoy's ext_authz take it: 200 lets in, all else is for the visitor as it is. */
export function checkForProxy(hosts: Hosts, visitor: Visitor): Answer {
  return answerOf(judge(hosts, visitor), visitor)
}

/** `check` as nginx's auth_request takes it: 200 lets in, 403 does not, and headers say what to do instead. */
export function checkForNginx(hosts: Hosts, visitor: Visitor): Answer {
  const verdict = judge(hosts, visitor)
  const headers = { ...headersOf(verdict), 'x-edge-status': String(verdict.status) }
  const location = 'origin' in verdict ? { 'x-edge-location': verdict.origin } : {}
  return { status: verdict.status === 200 ? 200 : 403, headers: { ...headers, ...location, ...NO_STORE }, body: '' }
}

/**
 * The page for a visitor that nginx did not let in, with its true status. `said`: the status that the check had given, which
 * stands where the state has changed in between.
 */
export function showPage(hosts: Hosts, visitor: Visitor, said: number | undefined): Answer {
  const verdict = judge(hosts, visitor)
  if (verdict.status !== 200 && (said === undefined || said === verdict.status || 'origin' in verdict))
    return answerOf(verdict, visitor)
  if (said === 503) return answerOf({ status: 503, error: 'DEPLOYMENT_PAUSED' }, visitor)
  if (said === 404) return answerOf({ status: 404, error: 'DOMAIN_NOT_FOUND' }, visitor)
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

const NO_STORE = { 'cache-control': 'no-store' }

function answerOf(verdict: Verdict, visitor: Visitor): Answer {
  const headers = headersOf(verdict)
  if ('live' in verdict) return { status: 200, headers: { ...headers, ...NO_STORE }, body: '' }
  if ('origin' in verdict) {
    return pageAnswer('MOVED', verdict.status, visitor, { ...headers, location: verdict.origin + visitor.uri })
  }
  return pageAnswer(verdict.error, verdict.status, visitor, headers)
}

/** What every flavour tells in headers. */
function headersOf(verdict: Verdict): Record<string, string> {
  if ('live' in verdict) {
    const { projectId, deploymentId, upstream } = verdict.live
    return {
      'x-edge-project': projectId,
      'x-edge-deployment': deploymentId,
      ...(upstream !== null && { 'x-edge-upstream': upstream, 'x-edge-address': addressOf(upstream) }),
    }
  }
  const project = verdict.projectId === undefined ? {} : { 'x-edge-project': verdict.projectId }
  if ('origin' in verdict) return project
  const retry = verdict.error === 'DEPLOYMENT_PAUSED' ? { 'retry-after': PAUSED_RETRY_SECONDS } : {}
  return { ...project, ...retry, 'x-edge-error': verdict.error }
}

/** `host:port` of an origin: what Caddy and HAProxy dial. */
export function addressOf(upstream: string): string {
  const { hostname, port, protocol } = new URL(upstream)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function pageAnswer(kind: PageKind, status: number, { host }: Visitor, headers: Record<string, string>): Answer {
  return { status, headers: { ...PAGE_HEADERS, ...headers }, body: pageOf(kind, status, host) }
}

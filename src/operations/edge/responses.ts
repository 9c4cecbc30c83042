/** Operations of the edge listener. docs/edge.md. */
import { type AdmitVisitor, guardOfSourceMap, requiresAdmission } from '../../platform/verdict/admission.ts'
import type { HostIndex } from '../../platform/verdict/hosts.ts'
import { SIGN_IN_HEADERS } from '../../platform/verdict/site-sign-in.ts'
import { judgeEntry, type Live, resolveVerdict, type Verdict, type Visitor } from '../../platform/verdict/verdict.ts'
import {
  denialResponse,
  type EdgeResponse,
  MOMENT_SECONDS,
  pageAnswer,
  retryHeaders,
} from '../../platform/verdict/visitor-answer.ts'

export type Judge = (visitor: Visitor) => Verdict

const NO_STORE = { 'cache-control': 'no-store' }

/** Resolves verdicts for proxies: a deployment is live only if it has an origin. */
export function judgeForProxy(hosts: HostIndex, sitesAddress: string | undefined): Judge {
  return (visitor) => {
    const verdict = resolveVerdict(hosts, visitor)
    if (!('live' in verdict) || verdict.live.upstream !== null) return verdict
    const { live } = verdict
    const upstream = upstreamOf(live, sitesAddress)
    // Without an upstream, the proxy would show a bare error or follow a forged header.
    if (upstream === null) return { status: 404, error: 'DEPLOYMENT_NOT_FOUND', projectId: live.projectId }
    return { ...verdict, live: { ...live, upstream } }
  }
}

/** Resolves verdicts for sites servers, which serve outputs and report requests for source maps. */
export function judgeForSites(hosts: HostIndex): Judge {
  return (visitor) => {
    const entry = hosts.find(visitor.host)
    const verdict = judgeEntry(entry, visitor)
    if (!('live' in verdict) || visitor.wantsSourceMap !== true) return verdict
    return { ...verdict, guard: guardOfSourceMap(entry) }
  }
}

/** Returns the origin for a proxy: the registered upstream, or the sites server for an output; null when none exists. */
export function upstreamOf({ upstream, output }: Live, sitesAddress: string | undefined): string | null {
  return upstream ?? (output === null ? null : (sitesAddress ?? null))
}

/** Handles `check` for Caddy's forward_auth, Traefik's ForwardAuth and Envoy's ext_authz: 200 admits, other responses go to the visitor. */
export async function checkForwardAuth(judge: Judge, admit: AdmitVisitor, visitor: Visitor): Promise<EdgeResponse> {
  return answerFor(await decide(judge, admit, visitor), visitor)
}

/** Handles `check` for a sites server: as for a proxy, plus the sign-in page where signing in would help. */
export async function checkForSites(
  judge: Judge,
  admit: AdmitVisitor,
  visitor: Visitor,
  signInPage: string,
): Promise<EdgeResponse> {
  const verdict = await decide(judge, admit, visitor)
  const answer = answerFor(verdict, visitor)
  if (!('error' in verdict) || verdict.signIn !== true) return answer
  return { ...answer, headers: { ...answer.headers, [SIGN_IN_HEADERS.page]: signInPage } }
}

/** Handles `check` for nginx's auth_request: 200 admits, 403 does not, and headers contain the verdict. */
export async function checkAuthRequest(judge: Judge, admit: AdmitVisitor, visitor: Visitor): Promise<EdgeResponse> {
  return nginxAnswerOf(await decide(judge, admit, visitor))
}

/** As `checkAuthRequest`, for a host and any visitor, so that nginx can cache it for a second. A protected host returns 401: check this visitor. */
export function checkAuthRequestForHost(judge: Judge, visitor: Visitor): EdgeResponse {
  const verdict = judge(visitor)
  const guarded = 'live' in verdict && requiresAdmission(verdict.guard)
  const answer = nginxAnswerOf(guarded ? { status: 401, error: 'PASSWORD_REQUIRED' } : verdict)
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'max-age=1' } }
}

/** Renders the page for a visitor that nginx rejected, with its actual status. `status`: that of the check, used if the state has changed since. */
export async function nginxErrorPage(
  judge: Judge,
  admit: AdmitVisitor,
  visitor: Visitor,
  status: number | undefined,
): Promise<EdgeResponse> {
  const verdict = await decide(judge, admit, visitor)
  if (verdict.status !== 200 && (status === undefined || status === verdict.status || 'origin' in verdict))
    return answerFor(verdict, visitor)
  if (status === 503) return answerFor({ status: 503, error: 'DEPLOYMENT_PAUSED' }, visitor)
  if (status === 404) return answerFor({ status: 404, error: 'DOMAIN_NOT_FOUND' }, visitor)
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

async function decide(judge: Judge, admit: AdmitVisitor, visitor: Visitor): Promise<Verdict> {
  const verdict = judge(visitor)
  if (!('live' in verdict) || verdict.guard === undefined) return verdict
  const refused = await admit(verdict.guard, visitor, verdict.live.projectId)
  return refused === undefined ? verdict : { ...refused, projectId: verdict.live.projectId }
}

function nginxAnswerOf(verdict: Verdict): EdgeResponse {
  const location = 'origin' in verdict ? { 'x-edge-location': verdict.origin } : {}
  const headers = { ...headersOf(verdict), ...location, 'x-edge-status': String(verdict.status), ...NO_STORE }
  return { status: verdict.status === 200 ? 200 : 403, headers, body: '' }
}

function answerFor(verdict: Verdict, visitor: Visitor): EdgeResponse {
  const headers = headersOf(verdict)
  if ('live' in verdict) return { status: 200, headers: { ...headers, ...NO_STORE }, body: '' }
  const answer = denialResponse(verdict, visitor)
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

function headersOf(verdict: Verdict): Record<string, string> {
  if ('live' in verdict) {
    const { projectId, deploymentId, upstream } = verdict.live
    return {
      'x-edge-project': projectId,
      'x-edge-deployment': deploymentId,
      ...(upstream !== null && { 'x-edge-upstream': upstream, 'x-edge-address': dialAddress(upstream) }),
    }
  }
  const project = verdict.projectId === undefined ? {} : { 'x-edge-project': verdict.projectId }
  if ('origin' in verdict) return project
  return { ...project, ...retryHeaders(verdict), 'x-edge-error': verdict.error }
}

/** Returns `host:port` of an origin, as Caddy and HAProxy dial it. */
export function dialAddress(upstream: string): string {
  const { hostname, port, protocol } = new URL(upstream)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

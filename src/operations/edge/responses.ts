/** What the edge answers: the operations behind the paths of the listener. docs/edge.md says what a proxy makes of each. */
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

/** Decides for proxies: `judge`, where a deployment is live only if there is an origin to send its visitors to. */
export function judgeForProxy(hosts: HostIndex, sitesAddress: string | undefined): Judge {
  return (visitor) => {
    const verdict = resolveVerdict(hosts, visitor)
    if (!('live' in verdict) || verdict.live.upstream !== null) return verdict
    const { live } = verdict
    const upstream = upstreamOf(live, sitesAddress)
    // Let in without a place to go to, a visitor would get a bare error of the proxy, or what a forged header says.
    if (upstream === null) return { status: 404, error: 'DEPLOYMENT_NOT_FOUND', projectId: live.projectId }
    return { ...verdict, live: { ...live, upstream } }
  }
}

/** Decides for sites servers, which serve an output by themselves and say where a visitor asks for a source map. */
export function judgeForSites(hosts: HostIndex): Judge {
  return (visitor) => {
    const entry = hosts.find(visitor.host)
    const verdict = judgeEntry(entry, visitor)
    if (!('live' in verdict) || visitor.wantsSourceMap !== true) return verdict
    return { ...verdict, guard: guardOfSourceMap(entry) }
  }
}

/** The origin where a proxy sends visitors: the upstream that the build system registered, or the sites server for an output; null where there is none. */
export function upstreamOf({ upstream, output }: Live, sitesAddress: string | undefined): string | null {
  return upstream ?? (output === null ? null : (sitesAddress ?? null))
}

/** `check` as Caddy's forward_auth, Traefik's ForwardAuth and Envoy's ext_authz take it: 200 lets in, all else is for the visitor as it is. */
export async function checkForwardAuth(judge: Judge, admit: AdmitVisitor, visitor: Visitor): Promise<EdgeResponse> {
  return answerFor(await decide(judge, admit, visitor), visitor)
}

/** `check` as a sites server takes it: as for a proxy, and where a sign-in would let the visitor in, with the page for it. */
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

/** `check` as nginx's auth_request takes it: 200 lets in, 403 does not, and headers say what to do instead. */
export async function checkAuthRequest(judge: Judge, admit: AdmitVisitor, visitor: Visitor): Promise<EdgeResponse> {
  return nginxAnswerOf(await decide(judge, admit, visitor))
}

/**
 * The same for a host, whoever the visitor is, so that nginx may keep it for a second. A protected host is a 401: this
 * visitor has to be asked for.
 */
export function checkAuthRequestForHost(judge: Judge, visitor: Visitor): EdgeResponse {
  const verdict = judge(visitor)
  const guarded = 'live' in verdict && requiresAdmission(verdict.guard)
  const answer = nginxAnswerOf(guarded ? { status: 401, error: 'PASSWORD_REQUIRED' } : verdict)
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'max-age=1' } }
}

/**
 * The page for a visitor that nginx did not let in, with its true status. `status`: the status that the check had given, which
 * stands where the state has changed in between.
 */
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

/** What every flavour tells in headers. */
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

/** `host:port` of an origin: what Caddy and HAProxy dial. */
export function dialAddress(upstream: string): string {
  const { hostname, port, protocol } = new URL(upstream)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** What the edge answers: the operations behind the paths of the listener. docs/edge.md says what a proxy makes of each. */
import { type Admit, keepsOut } from './admit.ts'
import type { Hosts } from './hosts.ts'
import { PAGE_HEADERS, type PageKind, pageOf } from './page.ts'
import { judge, type Verdict, type Visitor } from './verdict.ts'

export type Answer = { status: number; headers: Record<string, string>; body: string }

/** While a project is paused, programs that ask again wait this long. */
const PAUSED_RETRY_SECONDS = '300'
const MOMENT_SECONDS = '1'
const NO_STORE = { 'cache-control': 'no-store' }

/** `check` as Caddy's forward_auth, Traefik's ForwardAuth and Envoy's ext_authz take it: 200 lets in, all else is for the visitor as it is. */
export async function checkForProxy(hosts: Hosts, admit: Admit, visitor: Visitor): Promise<Answer> {
  return answerOf(await decide(hosts, admit, visitor), visitor)
}

/** `check` as nginx's auth_request takes it: 200 lets in, 403 does not, and headers say what to do instead. */
export async function checkForNginx(hosts: Hosts, admit: Admit, visitor: Visitor): Promise<Answer> {
  return nginxAnswerOf(await decide(hosts, admit, visitor))
}

/**
 * The same for a host, whoever the visitor is, so that nginx may keep it for a second. A protected host is a 401: this
 * visitor has to be asked for.
 */
export function checkHostForNginx(hosts: Hosts, visitor: Visitor): Answer {
  const verdict = judge(hosts, visitor)
  const guarded = 'live' in verdict && keepsOut(verdict.guard)
  const answer = nginxAnswerOf(guarded ? { status: 401, error: 'PASSWORD_REQUIRED' } : verdict)
  return { ...answer, headers: { ...answer.headers, 'cache-control': 'max-age=1' } }
}

/**
 * The page for a visitor that nginx did not let in, with its true status. `status`: the status that the check had given, which
 * stands where the state has changed in between.
 */
export async function showPage(
  hosts: Hosts,
  admit: Admit,
  visitor: Visitor,
  status: number | undefined,
): Promise<Answer> {
  const verdict = await decide(hosts, admit, visitor)
  if (verdict.status !== 200 && (status === undefined || status === verdict.status || 'origin' in verdict))
    return answerOf(verdict, visitor)
  if (status === 503) return answerOf({ status: 503, error: 'DEPLOYMENT_PAUSED' }, visitor)
  if (status === 404) return answerOf({ status: 404, error: 'DOMAIN_NOT_FOUND' }, visitor)
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

async function decide(hosts: Hosts, admit: Admit, visitor: Visitor): Promise<Verdict> {
  const verdict = judge(hosts, visitor)
  if (!('live' in verdict) || verdict.guard === undefined) return verdict
  const refused = await admit(verdict.guard, visitor)
  return refused === undefined ? verdict : { ...refused, projectId: verdict.live.projectId }
}

function nginxAnswerOf(verdict: Verdict): Answer {
  const location = 'origin' in verdict ? { 'x-edge-location': verdict.origin } : {}
  const headers = { ...headersOf(verdict), ...location, 'x-edge-status': String(verdict.status), ...NO_STORE }
  return { status: verdict.status === 200 ? 200 : 403, headers, body: '' }
}

function answerOf(verdict: Verdict, visitor: Visitor): Answer {
  const headers = headersOf(verdict)
  if ('live' in verdict) return { status: 200, headers: { ...headers, ...NO_STORE }, body: '' }
  if ('origin' in verdict) {
    return pageAnswer('MOVED', verdict.status, visitor, { ...headers, location: verdict.origin + visitor.uri })
  }
  const asks = verdict.status === 401 ? { 'www-authenticate': `Basic realm="${visitor.host}", charset="UTF-8"` } : {}
  return pageAnswer(verdict.error, verdict.status, visitor, { ...headers, ...asks })
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
  const seconds = verdict.error === 'DEPLOYMENT_PAUSED' ? PAUSED_RETRY_SECONDS : MOMENT_SECONDS
  return { ...project, ...(verdict.status === 503 && { 'retry-after': seconds }), 'x-edge-error': verdict.error }
}

/** `host:port` of an origin: what Caddy and HAProxy dial. */
export function addressOf(upstream: string): string {
  const { hostname, port, protocol } = new URL(upstream)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function pageAnswer(kind: PageKind, status: number, { host }: Visitor, headers: Record<string, string>): Answer {
  return { status, headers: { ...PAGE_HEADERS, ...headers }, body: pageOf(kind, status, host) }
}

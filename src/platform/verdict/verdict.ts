/** What the edge says of one visitor's request: the order of decisions, in one place. docs/spec/proxies.md 3.7; docs/edge.md. */
import type { Serving } from './facts.ts'
import type { HostEntry, HostIndex, HostProtection } from './hosts.ts'

/** A visitor's request, as the proxy in front tells of it. */
export type Visitor = {
  /** Lower case, without a port. */
  host: string
  /** `:8443` where the visitor named a port; else empty. */
  port: string
  scheme: 'http' | 'https'
  /** The path and query. */
  uri: string
  /** As the proxy in front saw it; empty where it does not say. */
  ip: string
  /** The password that came by HTTP Basic; the user name may be anything. */
  password: string | undefined
  /** The secret by which automation passes a protection. */
  bypass: string | undefined
  /** The secret of the cookie by which a member came in, where a sites server asks. */
  session?: string | undefined
  /** That a sites server found a source map at this address. */
  wantsSourceMap?: boolean
}

export type Live = Extract<Serving, { kind: 'live' }>

/** `signIn`: a member who signs in would be let in. */
export type Verdict =
  | { status: 200; live: Live; guard: HostProtection | undefined }
  | { status: 301 | 302 | 307 | 308; origin: string; projectId: string }
  | { status: 401 | 403 | 404 | 503; error: EdgeError; projectId?: string; signIn?: boolean }

export type EdgeError =
  | 'DOMAIN_NOT_FOUND'
  | 'DOMAIN_NOT_VERIFIED'
  | 'DEPLOYMENT_NOT_FOUND'
  | 'DEPLOYMENT_PAUSED'
  | 'PASSWORD_REQUIRED'
  | 'NOT_ALLOWED'
  | 'TOO_MANY_PASSWORDS'

/** Unknown and unverified, then a redirect, then paused, then live: with an upstream or an output. A guard, if there is one, is still to be asked. */
export function resolveVerdict(hosts: HostIndex, visitor: Visitor): Verdict {
  return judgeEntry(hosts.find(visitor.host), visitor)
}

/** The same of what a host was found to lead to. */
export function judgeEntry({ serving, guard }: HostEntry, { port, scheme }: Pick<Visitor, 'port' | 'scheme'>): Verdict {
  switch (serving.kind) {
    case 'unknown':
      return { status: 404, error: 'DOMAIN_NOT_FOUND' }
    case 'unverified':
      return { status: 404, error: 'DOMAIN_NOT_VERIFIED' }
    case 'redirect': {
      const status = serving.status as 301 | 302 | 307 | 308
      return { status, origin: `${scheme}://${serving.location}${port}`, projectId: serving.projectId }
    }
    case 'paused':
      return { status: 503, error: 'DEPLOYMENT_PAUSED', projectId: serving.projectId }
    case 'undeployed':
      return { status: 404, error: 'DEPLOYMENT_NOT_FOUND', projectId: serving.projectId }
    case 'live':
      if (serving.upstream === null && serving.output === null) {
        return { status: 404, error: 'DEPLOYMENT_NOT_FOUND', projectId: serving.projectId }
      }
      return { status: 200, live: serving, guard }
  }
}

/** Whether a proxy should get a certificate for this name: of verified domains, redirects and paused projects included, and of deployments. */
export function isCertificateAllowed(hosts: HostIndex, name: string): boolean {
  const { kind } = hosts.find(name).serving
  return kind !== 'unknown' && kind !== 'unverified'
}

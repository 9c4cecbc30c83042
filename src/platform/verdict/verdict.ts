/** The order of decisions for a visitor's request. docs/spec/proxies.md 3.7; docs/edge.md. */
import type { Serving } from './facts.ts'
import type { HostEntry, HostIndex, HostProtection } from './hosts.ts'

/** A visitor's request, as the proxy reports it. */
export type Visitor = {
  /** Lower case, without a port. */
  host: string
  /** Such as `:8443`; empty without a port. */
  port: string
  scheme: 'http' | 'https'
  uri: string
  /** As the proxy saw it; empty where unknown. */
  ip: string
  /** The password of HTTP Basic; the user name is ignored. */
  password: string | undefined
  /** The bypass secret for automation. */
  bypass: string | undefined
  /** The cookie secret of a member, in requests of sites servers. */
  session?: string | undefined
  /** Whether a sites server found a source map at this address. */
  wantsSourceMap?: boolean
}

export type Live = Extract<Serving, { kind: 'live' }>

/** `signIn`: a member can sign in for access. */
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

/** Resolves the verdict: unknown and unverified, then a redirect, then paused, then live. The caller still checks the protection. */
export function resolveVerdict(hosts: HostIndex, visitor: Visitor): Verdict {
  return judgeEntry(hosts.find(visitor.host), visitor)
}

/** Resolves the verdict of an entry of the host index. */
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

/** Returns whether a proxy may obtain a certificate for a name: verified domains (also of redirects and paused projects) and deployments. */
export function isCertificateAllowed(hosts: HostIndex, name: string): boolean {
  const { kind } = hosts.find(name).serving
  return kind !== 'unknown' && kind !== 'unverified'
}

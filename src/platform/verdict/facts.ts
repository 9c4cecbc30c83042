/**
 * What a host leads to: the facts that it is decided from, and the decision. Pure: the edge and the sites server share it.
 * docs/deployments.md: What a host leads to; the order of decisions is docs/spec/proxies.md 3.7.
 */
import type { Protection } from './protection.ts'
import type { SiteSettings } from './site-settings.ts'

export type Serving =
  /** Nobody here has the name. */
  | { kind: 'unknown' }
  /** Claimed, and not proven. */
  | { kind: 'unverified' }
  | { kind: 'redirect'; projectId: string; location: string; status: number }
  /** A production domain, or the own url of the deployment that serves production, of a paused project. */
  | { kind: 'paused'; projectId: string; deploymentId: string | null }
  /** Verified, and no deployment is behind it yet; or the own url of one that is not READY. */
  | { kind: 'undeployed'; projectId: string }
  /** `upstream` is null where the build system did not say one, `output` where the deployment has no files. */
  | {
      kind: 'live'
      projectId: string
      deploymentId: string
      upstream: string | null
      output: OutputFacts | null
    }

/** What visitors see of a deployment with files: the account that holds them, and the SHA-256 (in hexadecimal) and bytes of the routing manifest. */
export type OutputFacts = { accountId: string; digest: string; size: number }

/** A verified domain, or an address that Berth gave to production of a project or to a branch. */
export type DomainRecord = {
  name: string
  projectId: string
  redirect: string | null
  redirectStatusCode: number | null
  /** It shows a branch or a custom environment, not production. */
  ofBranch: boolean
  deploymentId: string | null
  /** Berth gave the name: it is no domain of the account. */
  isAddress?: boolean
}

export type DeploymentRecord = {
  id: string
  projectId: string
  /** Null in a sites server, which looks own urls up. */
  url: string | null
  ready: boolean
  production: boolean
  upstream: string | null
  output: OutputFacts | null
  /** The custom environment that it is of; absent where it is of none. */
  environmentId?: string
  /** In milliseconds. Sites servers know it of those alone that they look up by their id. */
  createdAt?: number
}

export type ProjectRecord = {
  id: string
  paused: boolean
  liveDeploymentId: string | null
  /** Undefined: everybody may come in. */
  protection: Protection | undefined
  /** What guards source maps where the protection leaves them open; absent: nothing does. */
  sourceMapProtection?: Protection
  /** Absent: all are off. */
  settings?: SiteSettings
}

const REDIRECT_STATUS = 307

/** What a verified domain leads to. */
export function servingOfDomain(
  { projectId, redirect, redirectStatusCode, ofBranch }: DomainRecord,
  project: ProjectRecord,
  deployment: DeploymentRecord | undefined,
): Serving {
  if (redirect !== null) {
    return { kind: 'redirect', projectId, location: redirect, status: redirectStatusCode ?? REDIRECT_STATUS }
  }
  if (project.paused && !ofBranch) return { kind: 'paused', projectId, deploymentId: deployment?.id ?? null }
  if (deployment === undefined) return { kind: 'undeployed', projectId }
  return liveOf(projectId, deployment)
}

/** What the own url of a deployment leads to. */
export function servingOfDeployment(deployment: DeploymentRecord, project: ProjectRecord): Serving {
  const { id: deploymentId, projectId, ready } = deployment
  if (project.paused && project.liveDeploymentId === deploymentId) return { kind: 'paused', projectId, deploymentId }
  return ready ? liveOf(projectId, deployment) : { kind: 'undeployed', projectId }
}

function liveOf(projectId: string, { id: deploymentId, upstream, output }: DeploymentRecord): Serving {
  return { kind: 'live', projectId, deploymentId, upstream, output }
}

/** A name that somebody claims, with the verified domain of that name, if there is one. */
export type NameRecord = { name: string; domain: DomainRecord | undefined }

/**
 * The records behind a host, and the decision what it serves. Pure: the edge and the sites server share it. docs/spec/proxies.md 3.7 has the order of
 * decisions.
 */
import type { CachePurges } from './cache-purges.ts'
import type { Protection } from './protection.ts'
import type { SiteSettings } from './site-settings.ts'

export type Serving =
  /** No account has the name. */
  | { kind: 'unknown' }
  /** Claimed, and not verified. */
  | { kind: 'unverified' }
  | { kind: 'redirect'; projectId: string; location: string; status: number }
  /** A production domain of a paused project, or any host of its production deployment. */
  | { kind: 'paused'; projectId: string; deploymentId: string | null }
  /** Verified without a deployment; or the url of one that is not READY. */
  | { kind: 'undeployed'; projectId: string }
  /** `upstream` is null where the build system set none, `output` where the deployment has no files. */
  | {
      kind: 'live'
      projectId: string
      deploymentId: string
      upstream: string | null
      output: OutputFacts | null
    }

/** The output of a deployment: its account, and the SHA-256 (in hexadecimal) and size of the routing manifest. */
export type OutputFacts = { accountId: string; digest: string; size: number }

/** A verified domain, or a generated address of production or of a branch. */
export type DomainRecord = {
  name: string
  projectId: string
  redirect: string | null
  redirectStatusCode: number | null
  /** It serves a branch or a custom environment, not production. */
  ofBranch: boolean
  deploymentId: string | null
  /** A generated address, not a domain of the account. */
  isAddress?: boolean
}

export type DeploymentRecord = {
  id: string
  projectId: string
  /** Null in a sites server, which looks urls up. */
  url: string | null
  ready: boolean
  production: boolean
  upstream: string | null
  output: OutputFacts | null
  /** Its custom environment, if any. */
  environmentId?: string
  /** In milliseconds. Sites servers know it only for deployments that they look up by id. */
  createdAt?: number
}

export type ProjectRecord = {
  id: string
  paused: boolean
  liveDeploymentId: string | null
  /** Undefined: public. */
  protection: Protection | undefined
  /** The protection of source maps where the site is public; absent: none. */
  sourceMapProtection?: Protection
  settings?: SiteSettings
  /** What was purged of its cached pages; absent: nothing. */
  purges?: CachePurges
}

const REDIRECT_STATUS = 307

/** Returns what a verified domain serves. */
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
  // A promoted preview keeps the domain of its branch.
  return pausedOf(deployment, project) ?? liveOf(projectId, deployment)
}

/** Returns what the url of a deployment serves. */
export function servingOfDeployment(deployment: DeploymentRecord, project: ProjectRecord): Serving {
  const { projectId, ready } = deployment
  const paused = pausedOf(deployment, project)
  if (paused !== undefined) return paused
  return ready ? liveOf(projectId, deployment) : { kind: 'undeployed', projectId }
}

/** A pause blocks the production deployment, whatever the host is. Specification: Project pause. */
function pausedOf({ id, projectId }: DeploymentRecord, project: ProjectRecord): Serving | undefined {
  if (!project.paused || project.liveDeploymentId !== id) return undefined
  return { kind: 'paused', projectId, deploymentId: id }
}

function liveOf(projectId: string, { id: deploymentId, upstream, output }: DeploymentRecord): Serving {
  return { kind: 'live', projectId, deploymentId, upstream, output }
}

/** A claimed name, with its verified domain if there is one. */
export type NameRecord = { name: string; domain: DomainRecord | undefined }

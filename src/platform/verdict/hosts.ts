/**
 * The host index: every host and what it serves. Names, deployments and projects are separate and joined on lookup, so that pausing a project with
 * 100,000 domains is one change.
 */

import type { CachePurges } from './cache-purges.ts'
import {
  type DeploymentRecord,
  type NameRecord,
  type ProjectRecord,
  type Serving,
  servingOfDeployment,
  servingOfDomain,
} from './facts.ts'
import type { AccessAttempt, Protection } from './protection.ts'
import type { SiteSettings } from './site-settings.ts'

/**
 * What a host serves, and its protection; undefined where the site is public or not served. `isPreviewUrl`: the url of a preview or of its branch,
 * hidden from search engines. `sourceMapGuard`: of source maps on a public site. `settings`: for sites servers. `version`: of a deployment of a
 * project with skew protection. `environment`: of what is served: `production`, `preview` or the id of a custom one.
 */
export type HostEntry = {
  serving: Serving
  guard?: HostProtection | undefined
  isPreviewUrl?: boolean
  sourceMapGuard?: HostProtection
  settings?: SiteSettings
  purges?: CachePurges
  environment?: string
  version?: { environment: string; createdAt?: number }
}
export type HostProtection = { protection: Protection } & Pick<AccessAttempt, 'kind' | 'through'>

export type HostIndex = {
  /** The entry of a host. `host`: lower case, without a port. */
  find(host: string): HostEntry
  /** The entry of exactly this verified domain, address or url; undefined where only a wildcard or claim covers the host. */
  findExact(host: string): HostEntry | undefined
  /** All records, read-only. */
  facts: Known
  /** Every name and url, in any order. */
  all(): Iterable<string>
  size(): number
  /** Replaces the record of a name, a deployment or a project; `undefined` deletes it. */
  setName(name: string, facts: NameRecord | undefined): void
  setDeployment(id: string, facts: DeploymentRecord | undefined): void
  setProject(id: string, facts: ProjectRecord | undefined): void
  /** Referenced projects and deployments without a record. */
  missing(): { projects: string[]; deployments: string[] }
}

const UNKNOWN: HostEntry = { serving: { kind: 'unknown' } }
const UNVERIFIED: HostEntry = { serving: { kind: 'unverified' } }

export type Known = {
  names: ReadonlyMap<string, NameRecord>
  urls: ReadonlyMap<string, DeploymentRecord>
  deployments: ReadonlyMap<string, DeploymentRecord>
  projects: ReadonlyMap<string, ProjectRecord>
}

/** Creates an empty index. */
export function createHostIndex(): HostIndex {
  const names = new Map<string, NameRecord>()
  const urls = new Map<string, DeploymentRecord>()
  const deployments = new Map<string, DeploymentRecord>()
  const projects = new Map<string, ProjectRecord>()
  const index: Known = { names, urls, deployments, projects }
  const lacked = { projects: new Set<string>(), deployments: new Set<string>() }
  const needs = (of: 'projects' | 'deployments', id: string) => {
    if (!index[of].has(id)) lacked[of].add(id)
  }

  return {
    find: (host) => find(index, host),
    findExact: (host) => findExact(index, host),
    facts: index,
    *all() {
      yield* names.keys()
      for (const url of urls.keys()) if (!names.has(url)) yield url
    },
    size: () => names.size + urls.size,
    setName(name, facts) {
      if (facts === undefined) return void names.delete(name)
      names.set(name, facts)
      if (facts.domain === undefined) return
      needs('projects', facts.domain.projectId)
      if (facts.domain.deploymentId !== null) needs('deployments', facts.domain.deploymentId)
    },
    setDeployment(id, facts) {
      lacked.deployments.delete(id)
      const before = deployments.get(id)
      const url = before?.url ?? null
      // In one batch another deployment may already have the url of a deleted one.
      if (url !== null && urls.get(url) === before) urls.delete(url)
      if (facts === undefined) return void deployments.delete(id)
      deployments.set(id, facts)
      if (facts.url !== null) urls.set(facts.url, facts)
      needs('projects', facts.projectId)
    },
    setProject(id, facts) {
      lacked.projects.delete(id)
      if (facts === undefined) projects.delete(id)
      else projects.set(id, facts)
    },
    missing: () => ({ projects: [...lacked.projects], deployments: [...lacked.deployments] }),
  }
}

/** In order: the exact verified domain or address, the url of a deployment, the closest verified wildcard, a claim. */
function find(index: Known, host: string): HostEntry {
  const entry = findExact(index, host)
  if (entry !== undefined) return entry
  let claimed = index.names.has(host)
  for (const wildcard of closestWildcards(host)) {
    const covering = index.names.get(wildcard)
    const served = covering && foundByName(index, covering)
    if (served !== undefined) return served
    claimed ||= covering !== undefined
  }
  return claimed ? UNVERIFIED : UNKNOWN
}

function findExact(index: Known, host: string): HostEntry | undefined {
  const exact = index.names.get(host)
  const url = index.urls.get(host)
  return (exact && foundByName(index, exact)) ?? (url && foundByUrl(index, url))
}

function foundByName({ projects, deployments }: Known, { domain }: NameRecord): HostEntry | undefined {
  const project = domain && projects.get(domain.projectId)
  if (project === undefined) return undefined
  const { deploymentId, ofBranch, isAddress } = domain!
  const deployment = deploymentId === null ? undefined : deployments.get(deploymentId)
  // The address of a branch is a second url of its newest deployment.
  if (isAddress && ofBranch && deployment !== undefined)
    return { ...entryOfDeployment(deployment, project), ...versionOf(deployment, project) }
  const preview = ofBranch || (deployment !== undefined && isPreview(deployment, project))
  return {
    serving: servingOfDomain(domain!, project, deployment),
    ...guardsOf(project, preview, isAddress ? 'address' : 'domain'),
    ...(deployment && { environment: environmentOf(deployment, project), ...versionOf(deployment, project, preview) }),
  }
}

function foundByUrl({ projects }: Known, deployment: DeploymentRecord): HostEntry | undefined {
  const project = projects.get(deployment.projectId)
  return project && entryOfDeployment(deployment, project)
}

/** Returns the entry of the url of a deployment. */
export function entryOfDeployment(deployment: DeploymentRecord, project: ProjectRecord): HostEntry {
  const isPreviewUrl = isPreview(deployment, project)
  return {
    serving: servingOfDeployment(deployment, project),
    ...guardsOf(project, isPreviewUrl, 'url'),
    environment: environmentOf(deployment, project),
    ...(isPreviewUrl && { isPreviewUrl }),
  }
}

/** Returns the environment of a deployment, whatever its host is: its functions share cached data with others of it. */
function environmentOf(deployment: DeploymentRecord, project: ProjectRecord): string {
  return isPreview(deployment, project) ? (deployment.environmentId ?? 'preview') : 'production'
}

/** Returns the version of a deployment by its protection: skew protection must not lead from a public environment to a protected one. */
export function versionOf(
  deployment: DeploymentRecord,
  project: ProjectRecord,
  preview = isPreview(deployment, project),
): Pick<HostEntry, 'version'> {
  if (project.settings?.skewProtection === undefined) return {}
  const { environmentId = 'preview', createdAt } = deployment
  return {
    version: { environment: preview ? environmentId : 'production', ...(createdAt !== undefined && { createdAt }) },
  }
}

/** Also under a name that a user assigned to it; a promoted deployment is production. */
function isPreview(deployment: DeploymentRecord, project: ProjectRecord): boolean {
  return !deployment.production && project.liveDeploymentId !== deployment.id
}

function guardsOf(
  { protection, sourceMapProtection, settings, purges }: ProjectRecord,
  preview: boolean,
  through: HostProtection['through'],
): Omit<HostEntry, 'serving' | 'isPreviewUrl'> {
  const visit = { kind: preview ? 'preview' : 'production', through } as const
  return {
    guard: protection && { protection, ...visit },
    ...(sourceMapProtection && { sourceMapGuard: { protection: sourceMapProtection, ...visit } }),
    ...(settings && { settings }),
    ...(purges && { purges }),
  }
}

/** Yields `*.b.c` for `a.b.c`, then `*.c`… but never one over a top-level domain. */
export function* closestWildcards(host: string): Generator<string> {
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    if (host.indexOf('.', dot + 1) === -1) return
    yield `*${host.slice(dot)}`
  }
}

/**
 * What a host leads to, for the edge: the rows it is decided from, read by name, by id or in slices, and the decision.
 * docs/deployments.md: What a host leads to; the order of decisions is docs/spec/proxies.md 3.7.
 */
import type { Queries } from '../db/db.ts'
import { showsProduction } from './pointing.ts'
import { type Protection, protectionOf } from './protection.ts'

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
  /** `upstream` is null where the build system did not say one. */
  | { kind: 'live'; projectId: string; deploymentId: string; upstream: string | null }

/** A verified domain. */
export type DomainFacts = {
  name: string
  projectId: string
  redirect: string | null
  redirectStatusCode: number | null
  /** It shows a branch or a custom environment, not production. */
  ofBranch: boolean
  deploymentId: string | null
}

export type DeploymentFacts = {
  id: string
  projectId: string
  url: string
  ready: boolean
  production: boolean
  upstream: string | null
}

export type ProjectFacts = {
  id: string
  paused: boolean
  liveDeploymentId: string | null
  /** Undefined: everybody may come in. */
  protection: Protection | undefined
}

const REDIRECT_STATUS = 307

/** What a verified domain leads to. */
export function servingOfDomain(
  { projectId, redirect, redirectStatusCode, ofBranch }: DomainFacts,
  project: ProjectFacts,
  deployment: DeploymentFacts | undefined,
): Serving {
  if (redirect !== null) {
    return { kind: 'redirect', projectId, location: redirect, status: redirectStatusCode ?? REDIRECT_STATUS }
  }
  if (project.paused && !ofBranch) return { kind: 'paused', projectId, deploymentId: deployment?.id ?? null }
  if (deployment === undefined) return { kind: 'undeployed', projectId }
  return { kind: 'live', projectId, deploymentId: deployment.id, upstream: deployment.upstream }
}

/** What the own url of a deployment leads to. */
export function servingOfDeployment(
  { id: deploymentId, projectId, ready, upstream }: DeploymentFacts,
  project: ProjectFacts,
): Serving {
  if (project.paused && project.liveDeploymentId === deploymentId) return { kind: 'paused', projectId, deploymentId }
  return ready ? { kind: 'live', projectId, deploymentId, upstream } : { kind: 'undeployed', projectId }
}

/** A name that somebody claims, with the verified domain of that name, if there is one. */
export type NameFacts = { name: string; domain: DomainFacts | undefined }

/** What is known of these names; those that nobody claims are not in the answer. */
export async function readNames(db: Queries, names: readonly string[]): Promise<NameFacts[]> {
  const rows = await db
    .selectFrom('project_domain')
    .leftJoin('alias', (join) =>
      join.onRef('alias.name', '=', 'project_domain.name').onRef('alias.project_id', '=', 'project_domain.project_id'),
    )
    .select([
      'project_domain.name',
      'project_domain.project_id',
      'redirect',
      'redirect_status_code',
      'git_branch',
      'custom_environment_id',
      'verified_at',
      'deployment_id',
    ])
    .where('project_domain.name', 'in', names)
    .execute()
  const facts = new Map<string, NameFacts>()
  for (const row of rows) {
    if (row.verified_at === null && facts.has(row.name)) continue
    const { name, project_id: projectId, redirect, redirect_status_code: redirectStatusCode } = row
    const domain = { name, projectId, redirect, redirectStatusCode, ofBranch: !showsProduction(row) }
    facts.set(name, {
      name,
      domain: row.verified_at === null ? undefined : { ...domain, deploymentId: row.deployment_id },
    })
  }
  return [...facts.values()]
}

/** The next names after this one that anybody claims, in their order. */
export async function nextNames(db: Queries, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('project_domain')
    .select('name')
    .distinct()
    .where('name', '>', after)
    .orderBy('name')
    .limit(limit)
    .execute()
  return rows.map(({ name }) => name)
}

/** These deployments, as far as they are there. */
export async function readDeployments(db: Queries, ids: readonly string[]): Promise<DeploymentFacts[]> {
  const rows = await selectDeployments(db).where('id', 'in', ids).execute()
  return rows.map(deploymentFacts)
}

/** The next deployments after this id, in their order. */
export async function nextDeployments(db: Queries, after: string, limit: number): Promise<DeploymentFacts[]> {
  const rows = await selectDeployments(db).where('id', '>', after).orderBy('id').limit(limit).execute()
  return rows.map(deploymentFacts)
}

function selectDeployments(db: Queries) {
  return db.selectFrom('deployment').select(['id', 'project_id', 'url', 'ready_state', 'target', 'upstream'])
}

function deploymentFacts(
  row: Awaited<ReturnType<ReturnType<typeof selectDeployments>['execute']>>[number],
): DeploymentFacts {
  const { id, project_id: projectId, url, upstream } = row
  return { id, projectId, url, upstream, ready: row.ready_state === 'READY', production: row.target === 'production' }
}

/** These projects, as far as they are there. */
export async function readProjects(db: Queries, ids: readonly string[]): Promise<ProjectFacts[]> {
  const rows = await db
    .selectFrom('project')
    .select(['id', 'paused_at', 'live_deployment_id', 'settings_json', 'password_hash', 'bypass_json'])
    .where('id', 'in', ids)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    paused: row.paused_at !== null,
    liveDeploymentId: row.live_deployment_id,
    protection: protectionOf(row),
  }))
}

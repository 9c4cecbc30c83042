/**
 * What a host leads to, for the edge: of one host, by one or two indexed queries; of all hosts in slices, to build an index in
 * memory. docs/decisions/0043; the order of decisions is edge.md 3.7.
 */
import type { Queries } from '../db/db.ts'
import { wildcardsOver } from '../domains/names.ts'

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

const REDIRECT_STATUS = 307

/**
 * Says what a host leads to. `host`: lower case, without a port. An exact domain comes before the own url of a deployment,
 * that before the closest wildcard, and what is verified before all claims.
 */
export async function servingOf(db: Queries, host: string): Promise<Serving> {
  const names = [host, ...wildcardsOver(host)]
  const domains = await selectDomains(db).where('project_domain.name', 'in', names).execute()
  const verified = domains.filter((row) => row.verified_at !== null)
  const exact = verified.find((row) => row.name === host)
  if (exact !== undefined) return ofDomain(exact)
  const deployment = await selectDeployments(db).where('deployment.url', '=', host).executeTakeFirst()
  if (deployment !== undefined) return ofUrl(deployment)
  // The longest covers the fewest names: it is the closest.
  const [closest] = verified.sort((a, b) => b.name.length - a.name.length)
  if (closest !== undefined) return ofDomain(closest)
  return { kind: domains.length > 0 ? 'unverified' : 'unknown' }
}

/** A host, or `*.` and what it covers, with what it leads to. */
export type ServedHost = { host: string; serving: Serving }

/** Where the next slice goes on; undefined: there is none. */
export type ServingCursor = { of: 'domain' | 'deployment'; after: string }

/**
 * One slice of all hosts: first domains by name, then the own urls of deployments. A claim that is not verified is there only
 * where nobody holds the name verified. A domain that has the name of a deployment's url comes before it.
 */
export async function listServing(
  db: Queries,
  cursor: ServingCursor | undefined,
  limit: number,
): Promise<{ hosts: ServedHost[]; next: ServingCursor | undefined }> {
  const { of, after } = cursor ?? { of: 'domain', after: '' }
  if (of === 'deployment') {
    const rows = await selectDeployments(db).where('url', '>', after).orderBy('url').limit(limit).execute()
    const next = rows.length < limit ? undefined : { of, after: rows.at(-1)!.url }
    return { hosts: rows.map((row) => ({ host: row.url, serving: ofUrl(row) })), next }
  }
  const names = db.selectFrom('project_domain').select('name').distinct().where('name', '>', after)
  const slice = (await names.orderBy('name').limit(limit).execute()).map(({ name }) => name)
  const next: ServingCursor =
    slice.length < limit ? { of: 'deployment', after: '' } : { of: 'domain', after: slice.at(-1)! }
  if (slice.length === 0) return { hosts: [], next }
  const verified = await selectDomains(db)
    .where('project_domain.name', 'in', slice)
    .where('project_domain.verified_at', 'is not', null)
    .execute()
  const served = new Map(verified.map((row) => [row.name, ofDomain(row)]))
  return { hosts: slice.map((host) => ({ host, serving: served.get(host) ?? { kind: 'unverified' } })), next }
}

type DomainRow = {
  name: string
  project_id: string
  redirect: string | null
  redirect_status_code: number | null
  git_branch: string | null
  verified_at: number | null
  paused_at: number | null
  deployment_id: string | null
  upstream: string | null
}

function selectDomains(db: Queries) {
  return db
    .selectFrom('project_domain')
    .innerJoin('project', (join) =>
      join
        .onRef('project.account_id', '=', 'project_domain.account_id')
        .onRef('project.id', '=', 'project_domain.project_id'),
    )
    .leftJoin('alias', (join) =>
      join.onRef('alias.name', '=', 'project_domain.name').onRef('alias.project_id', '=', 'project_domain.project_id'),
    )
    .leftJoin('deployment', 'deployment.id', 'alias.deployment_id')
    .select([
      'project_domain.name',
      'project_domain.project_id',
      'project_domain.redirect',
      'project_domain.redirect_status_code',
      'project_domain.git_branch',
      'project_domain.verified_at',
      'project.paused_at',
      'alias.deployment_id',
      'deployment.upstream',
    ])
}

function ofDomain(row: DomainRow): Serving {
  const { project_id: projectId, deployment_id: deploymentId, redirect, upstream } = row
  if (redirect !== null) {
    return { kind: 'redirect', projectId, location: redirect, status: row.redirect_status_code ?? REDIRECT_STATUS }
  }
  if (row.paused_at !== null && row.git_branch === null) return { kind: 'paused', projectId, deploymentId }
  return deploymentId === null ? { kind: 'undeployed', projectId } : { kind: 'live', projectId, deploymentId, upstream }
}

type DeploymentRow = {
  id: string
  project_id: string
  url: string
  ready_state: string
  upstream: string | null
  paused_at: number | null
  live_deployment_id: string | null
}

function selectDeployments(db: Queries) {
  return db
    .selectFrom('deployment')
    .innerJoin('project', (join) =>
      join.onRef('project.account_id', '=', 'deployment.account_id').onRef('project.id', '=', 'deployment.project_id'),
    )
    .select([
      'deployment.id',
      'deployment.project_id',
      'deployment.url',
      'deployment.ready_state',
      'deployment.upstream',
      'project.paused_at',
      'project.live_deployment_id',
    ])
}

function ofUrl({ id: deploymentId, project_id: projectId, upstream, ...row }: DeploymentRow): Serving {
  if (row.paused_at !== null && row.live_deployment_id === deploymentId)
    return { kind: 'paused', projectId, deploymentId }
  return row.ready_state === 'READY'
    ? { kind: 'live', projectId, deploymentId, upstream }
    : { kind: 'undeployed', projectId }
}

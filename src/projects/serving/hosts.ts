/** Rows for host verdicts, read by name, by id or in slices. platform/verdict/facts.ts decides. docs/deployments.md: What a host points to. */
import { sql } from 'kysely'
import { OF_PRODUCTION } from '../../model/addresses.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Queries } from '../../platform/db/db.ts'
import { cachePurgesOf } from '../../platform/verdict/cache-purges.ts'
import type { DeploymentRecord, NameRecord, OutputFacts, ProjectRecord } from '../../platform/verdict/facts.ts'
import { protectionOf, sourceMapProtectionOf } from '../../platform/verdict/protection.ts'
import { siteSettingsOf } from '../../platform/verdict/site-settings.ts'
import { isProductionTarget } from './domain-assignment.ts'

/** Returns facts of these names; omits unclaimed ones. */
export async function readNames(db: Queries, names: readonly string[]): Promise<NameRecord[]> {
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
  const facts = new Map<string, NameRecord>()
  for (const row of rows) {
    if (row.verified_at === null && facts.has(row.name)) continue
    const { name, project_id: projectId, redirect, redirect_status_code: redirectStatusCode } = row
    const domain = { name, projectId, redirect, redirectStatusCode, ofBranch: !isProductionTarget(row) }
    facts.set(name, {
      name,
      domain: row.verified_at === null ? undefined : { ...domain, deploymentId: row.deployment_id },
    })
  }
  for (const address of await selectAddresses(db).where('name', 'in', names).execute())
    facts.set(address.name, addressFacts(address))
  return [...facts.values()]
}

/** Returns the next addresses of production and branches after this name, in order. */
export async function nextAddresses(db: Queries, after: string, limit: number): Promise<NameRecord[]> {
  const rows = await selectAddresses(db).where('name', '>', after).orderBy('name').limit(limit).execute()
  return rows.map(addressFacts)
}

function selectAddresses(db: Queries) {
  return db
    .selectFrom('alias')
    .select(['name', 'project_id', 'deployment_id', 'address_of'])
    .where('address_of', 'is not', null)
}

function addressFacts(row: Awaited<ReturnType<ReturnType<typeof selectAddresses>['execute']>>[number]): NameRecord {
  const { name, project_id: projectId, deployment_id: deploymentId, address_of } = row
  const leads = { projectId, deploymentId, ofBranch: address_of !== OF_PRODUCTION, isAddress: true }
  return { name, domain: { name, ...leads, redirect: null, redirectStatusCode: null } }
}

/** Returns the next claimed names after this one, in order. */
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

/** Returns those of these deployments that exist. */
export async function readDeployments(db: Queries, ids: readonly string[]): Promise<DeploymentRecord[]> {
  const rows = await selectDeployments(db).where('id', 'in', ids).execute()
  return rows.map(deploymentFacts)
}

/** Returns the deployment with this own url, at most one. */
export async function readOwnUrl(db: Queries, url: string): Promise<DeploymentRecord[]> {
  return (await selectDeployments(db).where('url', '=', url).execute()).map(deploymentFacts)
}

/** Returns the next deployments after this id, in order. */
export async function nextDeployments(db: Queries, after: string, limit: number): Promise<DeploymentRecord[]> {
  const rows = await selectDeployments(db).where('id', '>', after).orderBy('id').limit(limit).execute()
  return rows.map(deploymentFacts)
}

/** Without joins: PostgreSQL without statistics would read all outputs for each slice. */
function selectDeployments(db: Queries) {
  return db
    .selectFrom('deployment')
    .select(['id', 'project_id', 'url', 'ready_state', 'target', 'upstream', 'custom_environment_id', 'created_stamp'])
    .select((eb) =>
      eb
        .selectFrom('output')
        .innerJoin('blob', 'blob.id', 'output.manifest_id')
        .select(sql<string>`output.account_id || ' ' || blob.sha256 || ' ' || blob.size`.as('facts'))
        .whereRef('output.id', '=', 'deployment.output_id')
        .as('output'),
    )
}

function deploymentFacts(
  row: Awaited<ReturnType<ReturnType<typeof selectDeployments>['execute']>>[number],
): DeploymentRecord {
  const { id, project_id: projectId, url, upstream } = row
  return {
    ...{ id, projectId, url, upstream },
    ready: row.ready_state === 'READY',
    production: row.target === 'production',
    output: row.output === null ? null : outputFacts(row.output),
    ...(row.custom_environment_id !== null && { environmentId: row.custom_environment_id }),
    createdAt: stampToMs(row.created_stamp),
  }
}

function outputFacts(text: string): OutputFacts {
  const [accountId = '', digest = '', size = ''] = text.split(' ')
  return { accountId, digest, size: Number(size) }
}

/** Returns those of these projects that exist. */
export async function readProjects(db: Queries, ids: readonly string[]): Promise<ProjectRecord[]> {
  const rows = await db
    .selectFrom('project')
    .select(['id', 'paused_at', 'live_deployment_id', 'settings_json', 'password_hash', 'bypass_json', 'purges_json'])
    .select('data_cache_disabled_at')
    .where('id', 'in', ids)
    .execute()
  return rows.map((row) => {
    const settings = siteSettingsOf(row.settings_json, row.data_cache_disabled_at !== null)
    const purges = cachePurgesOf(row.purges_json)
    const sourceMapProtection = sourceMapProtectionOf(row)
    return {
      id: row.id,
      paused: row.paused_at !== null,
      liveDeploymentId: row.live_deployment_id,
      protection: protectionOf(row),
      ...(sourceMapProtection && { sourceMapProtection }),
      ...(settings && { settings }),
      ...(purges && { purges }),
    }
  })
}

/** The environment of a build: variables of its project and of its create, and system variables. docs/building.md: Environment. */
import type { Deps } from '../../context.ts'
import { OF_BRANCH, OF_PRODUCTION } from '../../model/addresses.ts'
import { GIT_HOSTS } from '../../model/commit.ts'
import { environmentName } from '../../model/environment.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { CreateEnv } from './create-env.ts'
import { BYPASS_VARIABLE, type OpenedEnvironment, type OpenedVariable, openEnvironment } from './frozen-variables.ts'

type Texts = Record<string, string>
type Ctx = { db: Queries; deps: Deps }
type Environment = { env: Texts; masked: string[] }

/** Returns all variables of a build, and the keys of those that are secret. Undefined where a value does not open; the log has the reason. */
export async function environmentOfBuild(
  ctx: Ctx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
): Promise<Environment | undefined> {
  const opened = await openEnvironment(ctx, project, deployment)
  if (opened === undefined) return undefined
  const { variables, created, hidesSystem } = opened
  const system = await systemVariables(ctx, project, deployment, opened)
  const exposed = hidesSystem ? { CI: system.CI! } : system
  // Clients send `env` for what is deployed alone.
  return mergeVariables(variables, system, created.build, exposed)
}

/** Returns the variables of a deployment together: of the project, then of the create, then what Berth exposes. `system`: also what it does not. */
export function mergeVariables(
  variables: readonly OpenedVariable[],
  system: Texts,
  created: Texts,
  exposed: Texts,
): Environment {
  const env: Texts = {}
  const masked = new Set(Object.keys(created))
  for (const { key, type, value } of variables) {
    // A variable of type `system` names the system variable whose value it has.
    env[key] = type === 'system' ? (system[value] ?? '') : value
    if (type === 'system' ? value === BYPASS_VARIABLE : type !== 'plain') masked.add(key)
  }
  for (const key of Object.keys(exposed)) masked.delete(key)
  if (BYPASS_VARIABLE in exposed) masked.add(BYPASS_VARIABLE)
  return { env: { ...env, ...created, ...exposed }, masked: [...masked] }
}

/** TABLE commit facts by variable: fields of `gitMetadata`, then fields of `meta` by git host, whose prefix is left out. */
const GIT: Readonly<Record<string, { git?: string; meta: string }>> = {
  VERCEL_GIT_COMMIT_REF: { git: 'commitRef', meta: 'CommitRef' },
  VERCEL_GIT_COMMIT_SHA: { git: 'commitSha', meta: 'CommitSha' },
  VERCEL_GIT_COMMIT_MESSAGE: { git: 'commitMessage', meta: 'CommitMessage' },
  VERCEL_GIT_COMMIT_AUTHOR_NAME: { git: 'commitAuthorName', meta: 'CommitAuthorName' },
  VERCEL_GIT_COMMIT_AUTHOR_LOGIN: { meta: 'CommitAuthorLogin' },
  VERCEL_GIT_REPO_OWNER: { meta: 'CommitOrg' },
  VERCEL_GIT_REPO_SLUG: { meta: 'CommitRepo' },
  VERCEL_GIT_REPO_ID: { meta: 'CommitRepoId' },
}

/** Returns what Berth says of a deployment, by the names of upstream. */
export async function systemVariables(
  { db }: Ctx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
  { created, bypass, hasSkewProtection }: OpenedEnvironment,
): Promise<Texts> {
  const { id, url, target, git_branch } = deployment
  const rows = await db
    .selectFrom('alias')
    .select(['name', 'address_of'])
    .where('project_id', '=', project.id)
    .where('address_of', 'in', [OF_PRODUCTION, OF_BRANCH + (git_branch ?? '')])
    .execute()
  const addressOf = (what: string) => rows.find((row) => row.address_of === what)?.name
  const domain = await productionDomain(db, project)
  const branchUrl = git_branch === null ? undefined : addressOf(OF_BRANCH + git_branch)
  return {
    VERCEL: '1',
    CI: '1',
    VERCEL_ENV: target,
    VERCEL_TARGET_ENV: environmentName(project, deployment),
    VERCEL_URL: url,
    VERCEL_PROJECT_ID: project.id,
    VERCEL_DEPLOYMENT_ID: id,
    VERCEL_PROJECT_PRODUCTION_URL: domain ?? addressOf(OF_PRODUCTION) ?? url,
    ...(branchUrl !== undefined && { VERCEL_BRANCH_URL: branchUrl }),
    ...(bypass !== undefined && { [BYPASS_VARIABLE]: bypass }),
    ...(hasSkewProtection && { VERCEL_SKEW_PROTECTION_ENABLED: '1' }),
    ...gitVariables(deployment, created.git),
  }
}

/** The shortest verified domain of production. */
async function productionDomain(db: Queries, project: Row<'project'>): Promise<string | undefined> {
  const rows = await db
    .selectFrom('project_domain')
    .select('name')
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where('git_branch', 'is', null)
    .where('custom_environment_id', 'is', null)
    .where('redirect', 'is', null)
    .where('verified_at', 'is not', null)
    .execute()
  const names = rows.map(({ name }) => name).filter((name) => !name.startsWith('*'))
  return names.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0]
}

function gitVariables({ meta_json, git_branch }: Row<'deployment'>, git: CreateEnv['git']): Texts {
  const meta = JSON.parse(meta_json) as Texts
  const host = GIT_HOSTS.find((name) => Object.keys(meta).some((field) => field.startsWith(`${name}Commit`)))
  const found: Texts = host === undefined ? {} : { VERCEL_GIT_PROVIDER: host }
  for (const [key, { git: field, meta: suffix }] of Object.entries(GIT)) {
    const value = (field && git[field]) || (host && meta[`${host}${suffix}`])
    if (value) found[key] = value
  }
  if (git_branch !== null) found.VERCEL_GIT_COMMIT_REF ??= git_branch
  return found
}

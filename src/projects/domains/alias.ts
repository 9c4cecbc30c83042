/** The older path for domains, used by the CLI's `domains add`. docs/spec/client-requests.md B.3. */

import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { redirectCodeOf } from '../../model/domain.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { addDomain, findDomain, removeDomain } from './domains.ts'
import type { AddAlias, AliasList, ProjectDomain, RemoveAliasQuery } from './schema.ts'

/** Adds a domain and returns it in a list. Refuses what `addDomain` does, but alias_domain_exists 409 with the project, for `--force`. */
export async function addAlias(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, AddAlias>,
): Promise<Static<typeof AliasList>> {
  const { domain: name, target: _, ...routing } = body
  try {
    const added = await addDomain(ctx, project, { body: { name, ...routing } })
    return [showAlias(added)]
  } catch (error) {
    if (!(error instanceof Refusal) || error.key !== 'domain_on_other_project') throw error
    const { projectId, ...extra } = error.extra
    refuse('alias_domain_exists', error.message, {
      ...extra,
      ...(projectId !== undefined && { project: { id: projectId } }),
    })
  }
}

/** Removes a domain of a project and returns it. Refuses: not_found 404, invalid_domain 400. */
export async function removeAlias(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<Static<typeof RemoveAliasQuery>>,
): Promise<Static<typeof AliasList>> {
  const subject = await findDomain(ctx, { idOrName: project.id, domain: query.domain })
  await removeDomain(ctx, subject, { body: {} })
  const { domain } = subject
  return [
    showAlias({
      name: domain.name,
      createdAt: stampToMs(domain.created_stamp),
      gitBranch: domain.git_branch,
      redirect: domain.redirect,
      redirectStatusCode: redirectCodeOf(domain),
    }),
  ]
}

type AliasDomain = Pick<ProjectDomain, 'name' | 'createdAt' | 'gitBranch' | 'redirect' | 'redirectStatusCode'>

function showAlias({
  name,
  createdAt,
  gitBranch,
  redirect,
  redirectStatusCode,
}: AliasDomain): Static<typeof AliasList>[number] {
  return {
    domain: name,
    environment: 'production',
    target: 'PRODUCTION',
    createdAt,
    gitBranch,
    redirect,
    redirectStatusCode,
  }
}

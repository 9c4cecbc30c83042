/** The older path for domains, used by the CLI's `domains add`. docs/spec/client-requests.md B.3. */

import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { addDomain, findDomain, removeDomain } from './domains.ts'
import { type AddAlias, type AliasList, type ProjectDomain, type RemoveAliasQuery, showDomain } from './schema.ts'

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
  return [showAlias(showDomain(subject.domain, ctx.deps.config.domains))]
}

function showAlias(domain: ProjectDomain): Static<typeof AliasList>[number] {
  const { name, createdAt, gitBranch, redirect, redirectStatusCode } = domain
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

/** Removes a domain of an account with every name under it, in one transaction. docs/domains.md: Removing a domain of the account. */

import type { Ctx, Params } from '../../context.ts'
import { showEvent } from '../../model/domain.ts'
import { nameToFind } from '../../model/domain-name.ts'
import { guard, notInTransfer } from '../../platform/access/guards.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { deleteReleasedProofs } from '../domain-verification/released-proof.ts'
import { stopRedirects } from '../domains/domains.ts'
import { unassignDomains } from '../serving/domain-assignment.ts'
import { readClaim } from './list.ts'
import { accountDomainId } from './schema.ts'

const MAX_REMOVED = 1000

type Removed = { name: string; claim: Row<'account_domain'> | undefined; groups: Group[] }
type Group = { project: Row<'project'>; domains: Row<'project_domain'>[] }

/** Returns a domain of the account by its apex, with its visible names by project. Refuses: not_found 404, too_many_names 409. */
export async function findDomainToRemove(ctx: Ctx, params: Params): Promise<Removed> {
  const name = nameToFind(params.domain ?? '', ctx.deps.config.domains)
  const claim = await readClaim(ctx, name)
  const domains = await namesUnder(ctx, name)
  if (claim === undefined && domains.length === 0) refuse('not_found', `The account has no domain "${name}".`)
  if (domains.length > MAX_REMOVED) refuse('too_many_names')
  const groups: Group[] = []
  for (const [projectId, ofProject] of Map.groupBy(domains, (domain) => domain.project_id)) {
    const project = await ctx.db
      .selectFrom('project')
      .selectAll()
      .where('account_id', '=', ctx.account.id)
      .where('id', '=', projectId)
      .executeTakeFirstOrThrow()
    groups.push({ project, domains: ofProject })
  }
  return { name, claim, groups }
}

async function namesUnder(ctx: Ctx, apex: string): Promise<Row<'project_domain'>[]> {
  const { platformSuffix } = ctx.deps.config.domains
  let names = ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('apex_name', '=', apex)
  if (platformSuffix !== undefined) names = names.where('name', 'not like', `%.${platformSuffix}`)
  if (ctx.caller.projectIds !== null) names = names.where(isAmong(ctx.db, 'project_id', ctx.caller.projectIds))
  return names
    .orderBy('created_stamp')
    .limit(MAX_REMOVED + 1)
    .execute()
}

/** Applies `notInTransfer` to each project that has a name of the domain. */
export const noProjectInTransfer = guard(notInTransfer.refuses, async (ctx: Ctx, { groups }: Removed, input) => {
  for (const { project } of groups) await notInTransfer(ctx, project, input)
})

/** Removes a domain of the account, its verification, and every name under it from its project. Clears redirects to them. */
export async function removeAccountDomain(ctx: Ctx, { name, claim, groups }: Removed): Promise<{ uid: string }> {
  for (const { project, domains } of groups) {
    for (const slice of chunks(domains)) {
      await ctx.db
        .deleteFrom('project_domain')
        .where('account_id', '=', ctx.account.id)
        .where(
          'name',
          'in',
          slice.map((domain) => domain.name),
        )
        .execute()
    }
    await unassignDomains(ctx, project, domains)
    for (const domain of domains) {
      await stopRedirects(ctx, ctx.account, project, domain)
      ctx.emit('project.domain.deleted', showEvent(project, domain), project.id)
    }
  }
  if (claim !== undefined) {
    await ctx.db
      .deleteFrom('account_domain')
      .where('account_id', '=', claim.account_id)
      .where('name', '=', name)
      .execute()
  }
  await deleteReleasedProofs(ctx, name, { accountId: ctx.account.id })
  return { uid: accountDomainId(name) }
}

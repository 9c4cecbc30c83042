/** Apex domains of an account: those of its projects' names, and those added to the account. docs/domains.md: Domains of the account are derived. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import type { Row } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, isCursor, paginate, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { challengeOf } from '../domain-verification/challenge.ts'
import { findExemption } from '../domain-verification/exemption.ts'
import {
  type AccountDomainList,
  type AccountDomainState,
  type ListAccountDomainsQuery,
  showAccountDomain,
} from './schema.ts'

/** An apex with its creation stamp. `claim`: set if it was added to the account. */
export type Apex = { name: string; stamp: number; claim: Row<'account_domain'> | undefined }

/** Lists the domains of the account, newest first. A project-limited token sees only domains of its projects' names, and none added to the account. */
export async function listAccountDomains(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ListAccountDomainsQuery>,
): Promise<Static<typeof AccountDomainList>> {
  const { limit = DEFAULT_LIMIT, until } = query
  const [named, claimed] = [await namedApexes(ctx, limit + 1, query), await claimedApexes(ctx, limit + 1, query)]
  const all = [...named, ...claimed].sort((a, b) => placeOf(b) - placeOf(a)).slice(0, limit + 1)
  const { rows, pagination } = paginate(all, limit, until, placeOf)
  const domains = []
  for (const apex of rows) domains.push(showAccountDomain(await describeApex(ctx, apex), ctx.account))
  return { domains, pagination }
}

/** Returns the details of an apex for the response. */
export async function describeApex(ctx: Ctx, { name, stamp, claim }: Apex): Promise<AccountDomainState> {
  const exemption = await findExemption(ctx, { account_id: ctx.account.id, name, apex_name: name })
  const challenge = claim && challengeOf({ ...claim, apex_name: name }, ctx.deps.config.domains)
  return { name, createdAt: stampToMs(stamp), verified: exemption !== undefined, challenge }
}

/** Stamps of two tables may be equal, so claims sort after names. */
function placeOf({ stamp, claim }: Apex): number {
  return 2 * stamp + (claim === undefined ? 0 : 1)
}

type Placed = Pick<ListAccountDomainsQuery, 'until' | 'since'>

/** Converts cursor positions to exclusive stamp bounds. `offset` is the one that `placeOf` adds. */
function between({ until, since }: Placed, offset: 0 | 1) {
  const before = until === undefined ? undefined : isCursor(until) ? until : 2 * stampBefore(until)
  const after = since === undefined ? undefined : isCursor(since) ? since : 2 * stampAfter(since) + 1
  return {
    before: before === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil((before - offset) / 2),
    after: after === undefined ? -1 : Math.floor((after - offset) / 2),
  }
}

/** Apexes that were not added to the account, by their oldest visible name. */
async function namedApexes(ctx: Ctx, limit: number, query: Placed): Promise<Apex[]> {
  const { before, after } = between(query, 0)
  const rows = await namesOf(ctx)
    .select(['project_domain.apex_name as name', 'project_domain.created_stamp as stamp'])
    .where('project_domain.created_stamp', '<', before)
    .where('project_domain.created_stamp', '>', after)
    .orderBy('project_domain.created_stamp', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ ...row, claim: undefined }))
}

async function claimedApexes(ctx: Ctx, limit: number, query: Placed): Promise<Apex[]> {
  if (ctx.caller.projectIds !== null) return []
  const { before, after } = between(query, 1)
  const rows = await ctx.db
    .selectFrom('account_domain')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('created_stamp', '<', before)
    .where('created_stamp', '>', after)
    .orderBy('created_stamp', 'desc')
    .limit(limit)
    .execute()
  return rows.map((claim) => ({ name: claim.name, stamp: claim.created_stamp, claim }))
}

/** Returns an apex of the account by name. Undefined if the token cannot see any of it. */
export async function readApex(ctx: Ctx, name: string): Promise<Apex | undefined> {
  const claim = await readClaim(ctx, name)
  if (claim !== undefined) return { name, stamp: claim.created_stamp, claim }
  const oldest = await namesOf(ctx)
    .select('project_domain.created_stamp as stamp')
    .where('project_domain.apex_name', '=', name)
    .orderBy('project_domain.created_stamp')
    .limit(1)
    .executeTakeFirst()
  return oldest && { name, stamp: oldest.stamp, claim: undefined }
}

/** Returns the account's claim on an apex. Undefined for project-limited tokens. */
export function readClaim(ctx: Ctx, name: string): Promise<Row<'account_domain'> | undefined> {
  if (ctx.caller.projectIds !== null) return Promise.resolve(undefined)
  return ctx.db
    .selectFrom('account_domain')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** The oldest visible name per apex. Labels under the platform's suffix have no domain in the account. */
function namesOf(ctx: Ctx) {
  const { projectIds } = ctx.caller
  const { platformSuffix } = ctx.deps.config.domains
  let names = ctx.db
    .selectFrom('project_domain')
    .where('project_domain.account_id', '=', ctx.account.id)
    .where(({ not, exists, selectFrom }) => {
      let older = selectFrom('project_domain as older')
        .select('older.name')
        .whereRef('older.account_id', '=', 'project_domain.account_id')
        .whereRef('older.apex_name', '=', 'project_domain.apex_name')
        .whereRef('older.created_stamp', '<', 'project_domain.created_stamp')
      if (platformSuffix !== undefined) older = older.where('older.name', 'not like', `%.${platformSuffix}`)
      if (projectIds !== null) older = older.where(isAmong(ctx.db, 'older.project_id', projectIds))
      return not(exists(older))
    })
  if (platformSuffix !== undefined) names = names.where('project_domain.name', 'not like', `%.${platformSuffix}`)
  if (projectIds !== null) return names.where(isAmong(ctx.db, 'project_domain.project_id', projectIds))
  return names.where(({ not, exists, selectFrom }) =>
    not(
      exists(
        selectFrom('account_domain')
          .select('account_domain.name')
          .whereRef('account_domain.account_id', '=', 'project_domain.account_id')
          .whereRef('account_domain.name', '=', 'project_domain.apex_name'),
      ),
    ),
  )
}

/** Finds team members, and installed or registered integrations. These lists are short, so only their first rows are scanned. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { matchesAccountSearch } from '../../model/account.ts'
import { selectVisibleInstallations } from '../../model/installation.ts'
import { containsPattern } from '../../platform/db/db.ts'
import { exactly, type FinderResult, isLonger } from './finder.ts'

const MAX_PEOPLE = 5000
const MAX_INTEGRATIONS = 1000

/** Finds members of a team. A personal account has none. */
export async function findPeople({ db, account }: Ctx, text: string, count: number): Promise<FinderResult> {
  const members = db
    .selectFrom('member')
    .select('user_id')
    .where('team_id', '=', account.id)
    .orderBy('created_stamp', 'desc')
  const rows = await db
    .selectFrom(members.limit(MAX_PEOPLE).as('member'))
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.id', 'account.slug', 'account.name', 'account.email'])
    .where(matchesAccountSearch(text))
    .orderBy(exactly('account.slug', text))
    .orderBy('account.slug')
    .limit(count)
    .execute()
  const found = rows.map(({ id, slug, name, email }) => ({ id, name: slug, ...titled(name), ...(email && { email }) }))
  return { found, partial: await isLonger(members, MAX_PEOPLE) }
}

/** Finds integrations installed on the account. An installation finds only itself. */
export async function findIntegrations(ctx: Ctx, text: string, count: number): Promise<FinderResult> {
  const visible = selectVisibleInstallations(ctx).orderBy('created_stamp', 'desc')
  const rows = await ctx.db
    .selectFrom(visible.limit(MAX_INTEGRATIONS).as('installation'))
    .innerJoin('integration', 'integration.id', 'installation.integration_id')
    .select(['installation.id', 'integration.slug', 'integration.name'])
    .where(isNamed(text))
    .orderBy(exactly('integration.slug', text))
    .orderBy('integration.slug')
    .limit(count)
    .execute()
  return { found: rows.map(showIntegration), partial: await isLonger(visible, MAX_INTEGRATIONS) }
}

/** Finds integrations that the team registered. */
export async function findApps({ db, account }: Ctx, text: string, count: number): Promise<FinderResult> {
  const registered = db
    .selectFrom('integration')
    .select(['id', 'slug', 'name'])
    .where('team_id', '=', account.id)
    .orderBy('created_stamp', 'desc')
  const rows = await db
    .selectFrom(registered.limit(MAX_INTEGRATIONS).as('integration'))
    .selectAll()
    .where(isNamed(text))
    .orderBy(exactly('slug', text))
    .orderBy('slug')
    .limit(count)
    .execute()
  return { found: rows.map(showIntegration), partial: await isLonger(registered, MAX_INTEGRATIONS) }
}

function showIntegration({ id, slug, name }: { id: string; slug: string; name: string }) {
  return { id, name: slug, title: name }
}

function titled(name: string | null) {
  return name === null ? {} : { title: name }
}

/** A slug is lower case; names are compared with the engine's lower(). */
function isNamed(text: string) {
  const part = containsPattern(text)
  return sql<boolean>`(integration.slug like ${part} escape '!' or lower(integration.name) like ${part} escape '!')`
}

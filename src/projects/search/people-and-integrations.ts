/** The people of a team, and integrations: installed on the account, and registered by it. Lists of these are short, so their first rows are looked at. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { matchesAccountSearch } from '../../model/account.ts'
import { selectVisibleInstallations } from '../../model/installation.ts'
import { containsPattern } from '../../platform/db/db.ts'
import { exactly, type FinderResult, isLonger } from './finder.ts'

const MAX_PEOPLE = 5000
const MAX_INTEGRATIONS = 1000

/** The members of the team; of a personal account nobody: it has no list of people. */
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

/** The integrations that are installed on the account. An installation finds itself and no other. */
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

/** The integrations that the team registered. */
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

/** A slug is lower case; a name is lowered as far as the engine lowers. */
function isNamed(text: string) {
  const part = containsPattern(text)
  return sql<boolean>`(integration.slug like ${part} escape '!' or lower(integration.name) like ${part} escape '!')`
}

import { sql } from 'kysely'
import { STAMPS_PER_MS, stampToMs } from '../../platform/base/clock.ts'
import type { ReportPart } from './table-scan.ts'

const DAY_MS = 86_400_000
const UNUSED_MS = 90 * DAY_MS
/** A user added a week ago has had time to sign in. */
const NEW_MS = 7 * DAY_MS

/** Tokens of users. Those of installations are removed with their installation. */
export const TOKENS: ReportPart = {
  kinds: ['tokens-of-suspended', 'tokens-unused', 'tokens-without-end'],
  table: 'token',
  by: 'created_stamp',
  first: 0,
  async find({ db, now }, tally, within) {
    const unusedSince = now - UNUSED_MS
    const isUnused = sql<boolean>`(created_stamp < ${unusedSince * STAMPS_PER_MS}
    and coalesce((select at from seen where seen.id = token.id), 0) < ${unusedSince})`
    const isShut = sql<boolean>`(select suspended_at from account where account.id = token.user_id) is not null`
    const rows = await db
      .selectFrom('token')
      .select((eb) => [
        'id',
        'name',
        'created_stamp',
        'expires_at',
        isUnused.as('unused'),
        eb.selectFrom('seen').select('at').whereRef('seen.id', '=', 'token.id').as('seen_at'),
        eb.selectFrom('account').select('slug').whereRef('account.id', '=', 'token.user_id').as('username'),
        eb.selectFrom('account').select('suspended_at').whereRef('account.id', '=', 'token.user_id').as('suspended_at'),
      ])
      .where(within)
      .where('configuration_id', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
      .where((eb) => eb.or([eb('expires_at', 'is', null), isShut, isUnused]))
      .execute()
    for (const row of rows) {
      const item = { id: row.id, what: row.name ?? 'no name', where: row.username }
      const end = `berth token rm ${row.id}`
      const made = stampToMs(row.created_stamp)
      if (row.suspended_at !== null) tally.add('tokens-of-suspended', { ...item, since: row.suspended_at, advice: end })
      if (row.unused) tally.add('tokens-unused', { ...item, since: row.seen_at ?? made, advice: end })
      if (row.expires_at === null)
        tally.add('tokens-without-end', { ...item, since: made, advice: `${end}, and create one with --expires` })
    }
  },
}

/** Whether a team has an OWNER who is not suspended. `team`: the column with its id. */
export function hasOwner(team: string) {
  return sql<boolean>`(select "owner"."id" from "member" inner join "account" as "owner" on "owner"."id" = "member"."user_id"
    where "member"."team_id" = ${sql.ref(team)} and "member"."role" = 'OWNER' and "owner"."suspended_at" is null limit 1) is not null`
}

/** Inactive users, and teams without an owner. */
export const ACCOUNTS: ReportPart = {
  kinds: ['people-never-seen', 'teams-without-owner'],
  table: 'account',
  by: 'created_stamp',
  first: 0,
  async find({ db, now }, tally, within) {
    const isUnseen = sql<boolean>`(account.kind = 'user' and account.suspended_at is null
    and account.created_stamp < ${(now - NEW_MS) * STAMPS_PER_MS} and (select at from seen where seen.id = account.id) is null)`
    const isOrphan = sql<boolean>`(account.kind = 'team' and not ${hasOwner('account.id')})`
    const rows = await db
      .selectFrom('account')
      .select(['id', 'slug', 'kind', 'created_stamp'])
      .where(within)
      .where((eb) => eb.or([isUnseen, isOrphan]))
      .execute()
    for (const { id, slug, kind, created_stamp } of rows) {
      const item = { id, what: slug, where: null }
      if (kind === 'team') tally.add('teams-without-owner', { ...item, since: null, advice: giveOwner(slug) })
      else {
        const advice = `berth user password-link ${slug}, or berth user delete ${slug}`
        tally.add('people-never-seen', { ...item, since: stampToMs(created_stamp), advice })
      }
    }
  },
}

/** Integrations of teams without an owner. */
export const INTEGRATIONS: ReportPart = {
  kinds: ['integrations-without-owner'],
  table: 'integration',
  by: 'created_stamp',
  first: 0,
  async find({ db }, tally, within) {
    const rows = await db
      .selectFrom('integration')
      .select((eb) => [
        'id',
        'slug',
        eb.selectFrom('account').select('account.slug').whereRef('account.id', '=', 'integration.team_id').as('team'),
      ])
      .where(within)
      .where((eb) => eb.not(hasOwner('integration.team_id')))
      .execute()
    for (const { id, slug, team } of rows)
      tally.add('integrations-without-owner', {
        id,
        what: slug,
        where: team,
        since: null,
        advice: giveOwner(team ?? 'TEAM'),
      })
  },
}

/** Returns the advice for a team without an OWNER. */
export function giveOwner(team: string): string {
  return `berth team member add ${team} USER --role OWNER`
}

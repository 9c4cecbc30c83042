/** The account's audit entries as `vercel activity` and the SDKs request them. docs/accounts.md: Activity. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { LAST_DATE_MS, stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { namesOf } from './activity.ts'
import { pageOfAudit } from './audit-page.ts'

const Id = Type.Optional(Type.String({ maxLength: 64, description: 'of a user, or of an installation' }))

export const UserEventsQuery = Type.Object({
  // `vercel activity` requests one more than it shows, and shows 100 at most.
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 101, description: 'events on a page, 20 by default' })),
  since: timeFilter('only events from this time on: ISO 8601, or milliseconds'),
  until: timeFilter('only events up to this time: ISO 8601, or milliseconds'),
  types: listFilter('operationIds'),
  projectIds: listFilter('only changes of these projects and of what is in them'),
  principalId: Id,
  userId: Id,
  withPayload: Type.Optional(Type.String({ maxLength: 10, description: 'no effect: events have no payload' })),
})

function timeFilter(description: string) {
  return Type.Optional(Type.String({ maxLength: 40, description }))
}

function listFilter(description: string) {
  return Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100, description }))
}

const UserEvent = Type.Object({
  id: Type.String(),
  createdAt: Timestamp,
  text: Type.String({
    description: 'the actor, the operationId, the id that it was about, and the names of the fields',
  }),
  entities: Type.Array(
    Type.Object({
      type: OneOf('author'),
      start: Type.Integer({ description: 'the first character of the text' }),
      end: Type.Integer({ description: 'the character behind the last' }),
    }),
    { description: 'where the text names the actor' },
  ),
  userId: Type.String({ description: 'who did it: a user, an installation, an operator, a timer' }),
  principalId: Type.String({ description: 'as `userId`' }),
  principal: Type.Object({
    type: OneOf('user', 'app', 'system'),
    uid: Type.Optional(Type.String({ description: 'of a user' })),
    username: Type.Optional(Type.String()),
    slug: Type.Optional(Type.String()),
    email: Type.Optional(Type.String({ description: 'always empty' })),
    avatar: Type.Optional(Type.String({ description: 'always empty' })),
    clientId: Type.Optional(Type.String({ description: 'of an installation' })),
    name: Type.Optional(Type.String({ description: 'of an integration' })),
  }),
})
export const UserEventList = Type.Object({ events: Type.Array(UserEvent) })

/** Lists the changes in the account, newest first, among the latest entries of the service. Refuses: bad_request 400 for a time that cannot be read. */
export async function listUserEvents(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Static<typeof UserEventsQuery>>,
): Promise<Static<typeof UserEventList>> {
  const until = momentOf('until', query.until)
  const { rows } = await pageOfAudit(ctx, {
    limit: query.limit,
    since: momentOf('since', query.since),
    // The time itself is part of the page.
    until: until === undefined ? undefined : until + 1,
    accountId: ctx.account.id,
    actorId: query.principalId ?? query.userId,
    types: query.types,
    projectIds: query.projectIds,
  })
  const names = await namesOf(ctx, rows)
  return { events: rows.map((row) => eventOf(row, names.get(row.actor_id))) }
}

function momentOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  // `Date.parse` reads much else, such as -1.
  const ms = /^\d{1,16}$/.test(text) ? Number(text) : /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  if (ms >= 0 && ms < LAST_DATE_MS) return ms
  return refuse('bad_request', `Invalid request: \`${name}\` should be a time in ISO 8601, or in milliseconds.`)
}

function eventOf(row: Row<'audit'>, name: string | undefined): Static<typeof UserEvent> {
  const fields = JSON.parse(row.fields_json) as string[]
  const actor = name ?? row.actor_id
  const about = [row.type, row.subject_id ?? '', fields.length === 0 ? '' : `(${fields.join(', ')})`]
  return {
    id: String(row.stamp),
    createdAt: stampToMs(row.stamp),
    text: `${actor}: ${about.filter((word) => word !== '').join(' ')}`,
    entities: [{ type: 'author', start: 0, end: actor.length }],
    userId: row.actor_id,
    principalId: row.actor_id,
    principal: principalOf(row, actor),
  }
}

/** With every field that the SDKs require of a user or an app. */
function principalOf({ actor_kind, actor_id }: Row<'audit'>, actor: string): Static<typeof UserEvent>['principal'] {
  if (actor_kind === 'user') return { type: 'user', uid: actor_id, username: actor, slug: actor, email: '', avatar: '' }
  if (actor_kind === 'operator' || actor_kind === 'timer') return { type: 'system' }
  return { type: 'app', clientId: actor_id, name: actor }
}

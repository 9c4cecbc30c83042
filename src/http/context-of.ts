/** From a request to what its operation may touch. */
import { momentOf } from '../clock.ts'
import type { Actor, Ctx, Deps, OperatorCtx, Who } from '../context.ts'
import type { Queries } from '../db/db.ts'
import { mustBeLeft } from '../limiter.ts'
import { type Outgoing, outgoingOf } from '../outbox/outbox.ts'
import type { Route } from './route.ts'

/** `counted`: the rows that this request was counted for, however often its transaction runs. */
type Outer = { deps: Deps; now: number; route: Route; counted?: { rows: number } }

/** What a request hands to its operation: who acts, the connection, one reading of the clock, and the events
 * it will tell. `stamp`: drawn by a write when it is its turn, and by nobody else, since a millisecond has not many. */
export function contextOf(
  { deps, now, route, counted = { rows: 0 } }: Outer,
  db: Queries,
  who: Who | undefined,
  stamp = 0,
): (Ctx | OperatorCtx) & { outgoing: Outgoing[] } {
  const outgoing: Outgoing[] = []
  const actor: Actor = who?.actor ?? { kind: route.auth as 'operator' | 'client', id: route.auth, tokenId: null }
  const emit: Ctx['emit'] = (type, payload, about, owner) => {
    if (!route.emits?.includes(type)) throw new Error(`${route.operationId} does not declare the event ${type}`)
    outgoing.push(outgoingOf(type, payload, about, owner))
  }
  const bare = { actor, db, now: stamp === 0 ? now : momentOf(stamp), stamp, deps, emit, outgoing }
  if (who === undefined) return bare
  let written = 0
  const countRows = (rows: number) => {
    written += rows
    const more = written - counted.rows
    if (more <= 0) return
    mustBeLeft(deps.limits.take('rows-written', who.account.id, now, more), now, 'variables written')
    counted.rows = written
  }
  return { ...bare, who, account: who.account, countRows }
}

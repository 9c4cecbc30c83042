import type { Actor, Caller, Ctx, Deps, OperatorCtx } from '../../context.ts'
import type { Queries } from '../db/db.ts'
import { rejectIfExceeded } from '../limiter/limiter.ts'
import { openSpending, type Taken } from '../limiter/spending.ts'
import type { PendingEvent } from '../outbox/outbox.ts'
import type { WriteContext } from '../outbox/transact.ts'
import type { Route } from './route.ts'

/** `taken`: what this request consumed of limits, across retries of its transaction. `actorId`: the session user of an operator route, for the audit log. */
type Outer = { deps: Deps; now: number; route: Route; taken?: Taken; actorId?: string | undefined }

/**
 * Creates the context of an operation: caller, connection, time and events. `write`: for a write within its transaction; only then a stamp is drawn,
 * since a millisecond has few.
 */
export function requestContext(
  { deps, now, route, taken = new Map(), actorId = route.auth }: Outer,
  db: Queries,
  caller: Caller | undefined,
  write?: WriteContext,
): (Ctx | OperatorCtx) & { outgoing: PendingEvent[]; revealed?: ReadonlySet<string> } {
  const actor: Actor = caller?.actor ?? { kind: route.auth as 'operator' | 'client', id: actorId, tokenId: null }
  const emit = () => {
    throw new Error(`${route.operationId} publishes an event outside of its transaction`)
  }
  const bare = { actor, db, deps, secrets: { opened: false }, ...(write ?? { now, stamp: 0, emit, outgoing: [] }) }
  if (caller === undefined) return bare
  const spend = openSpending(deps.limits, caller.account.id, now, taken)
  const countRows = async (rows: number) =>
    rejectIfExceeded(await spend('rows-written', rows), now, 'variables written')
  const revealed = new Set<string>()
  const reveal = (targets: readonly string[]) => {
    for (const target of targets) revealed.add(target)
  }
  return { ...bare, caller, account: caller.account, spend, countRows, recordSecretRead: reveal, revealed }
}

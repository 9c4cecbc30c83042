import type { Actor, Caller, Ctx, Deps, OperatorCtx, Params } from '../../context.ts'
import { authenticateOperator, type Credentials, permit } from '../access/authenticate.ts'
import { identify, identifyCached } from '../access/identify.ts'
import { projectToPrefetch } from '../access/prefetch.ts'
import { authenticateOperatorSession } from '../access/session-authentication.ts'
import type { Queries } from '../db/db.ts'
import { rejectIfExceeded } from '../limiter/limiter.ts'
import { createSpending, type Taken } from '../limiter/spending.ts'
import type { PendingEvent } from '../outbox/outbox.ts'
import type { WriteContext } from '../outbox/transact.ts'
import { countFailedAuthentication, type Peer } from './failure-limits.ts'
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
  const bare = { actor, db, deps, secrets: { decrypted: false }, ...(write ?? { now, stamp: 0, emit, outgoing: [] }) }
  if (caller === undefined) return bare
  const spend = createSpending(deps.limits, caller.account.id, now, taken)
  const countRows = async (rows: number) =>
    rejectIfExceeded(await spend('rows-written', rows), now, 'variables written')
  const revealed = new Set<string>()
  const reveal = (targets: readonly string[]) => {
    for (const target of targets) revealed.add(target)
  }
  return { ...bare, caller, account: caller.account, spend, countRows, recordSecretRead: reveal, revealed }
}

/** As `authorize`, before any lookup. Counts failed attempts. Refuses: rate_limited 429 too. */
export async function authorizeRequest(
  deps: Deps,
  route: Route,
  credentials: Credentials,
  now: number,
  { params, peer }: { params: Params; peer: Peer },
): Promise<Caller | undefined> {
  try {
    return await authorize(deps, route, deps.db.read, credentials, now, () =>
      identifyCached(deps, credentials, now, route.prefetch && projectToPrefetch(deps.db, params)),
    )
  } catch (error) {
    await countFailedAuthentication(deps, error, peer)
    throw error
  }
}

/** Authorizes the caller of a route with `read`, or refuses with 401 or 403. Returns undefined for the operator and for clients, which have no account. */
export async function authorize(
  deps: Deps,
  route: Route,
  db: Queries,
  credentials: Credentials,
  now: number,
  read = () => identify(db, credentials, now),
): Promise<Caller | undefined> {
  if (route.auth === 'client') return undefined
  const { session } = credentials
  if (route.auth === 'operator') {
    if (session === undefined) authenticateOperator(credentials.authorization, deps.operatorTokenHash)
    else await authenticateOperatorSession(db, session, now)
    return undefined
  }
  const caller = await read()
  permit(caller, route.needs ?? [])
  return caller
}

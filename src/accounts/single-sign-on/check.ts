/**
 * Asks the provider every four hours whether it still vouches for a person, so that whoever was removed there is stopped here within 12 hours,
 * without a sign-in. Taking a person pushes the next question ahead in the same statement, so of several instances one asks: many providers
 * change the refresh token with each use. docs/single-sign-on.md: Who is removed.
 */

import type { Deps, OperatorCtx } from '../../context.ts'
import { type IdentityClaims, ProviderError } from '../../platform/adapters/identity-provider.ts'
import { drainLeaseQueue, type LeaseQueue, startLeaseWorker } from '../../platform/outbox/lease-loop.ts'
import { recordWrite } from '../../platform/outbox/outbox.ts'
import { transact } from '../../platform/outbox/transact.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import { confirmIdentity, type Identity, identityRow, MAX_UNCONFIRMED_MS, suspendIdentity } from './identities.ts'

/** After a question that got no answer. */
const AGAIN_MS = 10 * 60_000
const AT_ONCE = 4

/** Starts to ask. The function that it gives stops it. Without a provider there is nobody to ask. */
export function startIdentityChecks(deps: Deps): () => Promise<void> {
  if (deps.adapters.provider === undefined) return async () => {}
  return startLeaseWorker(deps, identityWork(deps)).stop
}

/** Asks about everybody who is due now. Gives how many they were. */
export function checkIdentities(deps: Deps, now: number): Promise<number> {
  return drainLeaseQueue(identityWork(deps), now, deps.shutdownSignal)
}

function identityWork(deps: Deps): LeaseQueue<Identity> {
  return {
    name: 'people to ask the provider about',
    async lease(now, running) {
      const room = AT_ONCE - running.length
      return room > 0 && (await isAnyDue(deps, now)) ? lease(deps, now, room) : []
    },
    run: (identity, now) =>
      checkOne(deps, identity, now()).catch((error) => {
        deps.log.warn(
          { err: error, userId: identity.user_id },
          'what the provider said of a person could not be written; it is asked again',
        )
      }),
  }
}

async function isAnyDue({ db }: Deps, now: number): Promise<boolean> {
  return (await db.read.selectFrom('identity').select('sub').where('due_at', '<=', now).limit(1).execute()).length > 0
}

function lease({ db }: Deps, now: number, room: number): Promise<Identity[]> {
  return db.write((tx) => {
    const due = tx.selectFrom('identity').select('user_id').where('due_at', '<=', now).orderBy('due_at').limit(room)
    return tx
      .updateTable('identity')
      .set({ due_at: now + AGAIN_MS })
      .where('user_id', 'in', due)
      .where('due_at', '<=', now)
      .returningAll()
      .execute()
  })
}

async function checkOne(deps: Deps, identity: Identity, now: number): Promise<void> {
  const answer = await ask(deps, identity)
  const isOver = identity.checked_at + MAX_UNCONFIRMED_MS <= now
  if (answer === 'unknown' && !isOver) return wait(deps, identity, now)
  await transact(deps, { name: 'check-identity' }, async (db, begin) => {
    const { outgoing, ...outboxCtx } = begin()
    const actor = { kind: 'timer', id: 'check-identity', tokenId: null } as const
    const ctx: OperatorCtx = { actor, db, deps, ...outboxCtx }
    // Whoever signed in meanwhile brought a newer word of the provider.
    if ((await identityRow(ctx, identity.user_id))?.checked_at !== identity.checked_at) return
    if (answer !== 'unknown' && answer !== 'gone') return confirmIdentity(ctx, identity.user_id, answer)
    await suspendIdentity(ctx, identity)
    await recordWrite(ctx, outgoing, 'endIdentity', identity.user_id, [])
  })
}

/** `unknown`: it could not be asked, or gave nothing to ask it with. */
async function ask(deps: Deps, identity: Identity): Promise<IdentityClaims | 'gone' | 'unknown'> {
  const provider = deps.adapters.provider!
  if (identity.refresh_token === null) return 'unknown'
  const box = await openSecretBox({ db: deps.db.read, deps }, identity.user_id)
  const token = box.openSecret('refresh-token', identity.sub, identity.refresh_token)
  if (token === undefined) return 'unknown'
  try {
    // The setting names another provider now: this one is not asked, and does not vouch.
    if (!(await provider.isNamed(identity.issuer))) return 'unknown'
    return (await provider.refresh(token, identity)) ?? 'gone'
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.warn(
      { userId: identity.user_id, why: error.message },
      'the provider did not say whether it still vouches for a person',
    )
    return 'unknown'
  }
}

/** Where the provider cannot be asked, once when the time is over; else again in ten minutes. */
async function wait({ db }: Deps, { issuer, sub, checked_at, refresh_token }: Identity, now: number): Promise<void> {
  const over = checked_at + MAX_UNCONFIRMED_MS
  const due = refresh_token === null ? over : Math.min(now + AGAIN_MS, over)
  await db.write((tx) =>
    tx
      .updateTable('identity')
      .set({ due_at: due })
      .where('issuer', '=', issuer)
      .where('sub', '=', sub)
      .where('checked_at', '=', checked_at)
      .execute(),
  )
}

/**
 * Checks every four hours that the provider still confirms each user, so removed users lose access within 12 hours. One statement claims a user and
 * postpones the next check, so only one instance calls: many providers rotate the refresh token. docs/single-sign-on.md: Deprovisioning.
 */

import type { Deps, OperatorCtx } from '../../context.ts'
import { type IdentityClaims, ProviderError } from '../../platform/adapters/identity-provider.ts'
import { leaseDue } from '../../platform/outbox/lease-due.ts'
import { drainLeaseQueue, type LeaseQueue, startLeaseWorker } from '../../platform/outbox/lease-loop.ts'
import { recordWrite } from '../../platform/outbox/outbox.ts'
import { transact } from '../../platform/outbox/transact.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import { MAX_UNCONFIRMED_MS } from '../users/operator-suspension.ts'
import { confirmIdentity, type Identity, identityRow, suspendIdentity } from './identities.ts'

/** Wait after a failed check. */
const AGAIN_MS = 10 * 60_000
const AT_ONCE = 4

/** Starts the checks and returns a function that stops them. Does nothing without a provider. */
export function startIdentityChecks(deps: Deps): () => Promise<void> {
  if (deps.adapters.provider === undefined) return async () => {}
  return startLeaseWorker(deps, identityWork(deps)).stop
}

/** Checks every user who is due. Returns their number. */
export function checkIdentities(deps: Deps, now: number): Promise<number> {
  return drainLeaseQueue(identityWork(deps), now, deps.shutdownSignal)
}

function identityWork(deps: Deps): LeaseQueue<Identity> {
  return {
    name: 'users to check with the provider',
    lease: (now, running) => leaseDue(deps.db, 'identity', { now, leaseMs: AGAIN_MS, room: AT_ONCE - running.length }),
    run: (identity, now) =>
      checkOne(deps, identity, now()).catch((error) => {
        deps.log.warn(
          { err: error, userId: identity.user_id },
          'the response of the provider about a user could not be stored; retrying',
        )
      }),
  }
}

async function checkOne(deps: Deps, identity: Identity, now: number): Promise<void> {
  const answer = await ask(deps, identity)
  const isOver = identity.checked_at + MAX_UNCONFIRMED_MS <= now
  if (answer === 'unknown' && !isOver) return wait(deps, identity, now)
  await transact(deps, { name: 'check-identity' }, async (db, begin) => {
    const { outgoing, ...outboxCtx } = begin()
    const actor = { kind: 'timer', id: 'check-identity', tokenId: null } as const
    const ctx: OperatorCtx = { actor, db, deps, ...outboxCtx }
    // The user signed in meanwhile, which is more recent.
    if ((await identityRow(ctx, identity.user_id))?.checked_at !== identity.checked_at) return
    if (answer !== 'unknown' && answer !== 'gone') return confirmIdentity(ctx, identity.user_id, answer)
    await suspendIdentity(ctx, identity)
    await recordWrite(ctx, outgoing, 'endIdentity', identity.user_id, [])
  })
}

/** `unknown`: no answer from the provider, or no refresh token. */
async function ask(deps: Deps, identity: Identity): Promise<IdentityClaims | 'gone' | 'unknown'> {
  const provider = deps.adapters.provider!
  if (identity.refresh_token === null) return 'unknown'
  const box = await openSecretBox({ db: deps.db.read, deps }, identity.user_id)
  const token = box.openSecret('refresh-token', identity.sub, identity.refresh_token)
  if (token === undefined) return 'unknown'
  try {
    // The setting names another provider now, which cannot confirm this identity.
    if (!(await provider.isNamed(identity.issuer))) return 'unknown'
    return (await provider.refresh(token, identity)) ?? 'gone'
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.warn({ userId: identity.user_id, why: error.message }, 'the provider did not confirm or reject a user')
    return 'unknown'
  }
}

/** Postpones by ten minutes, or until the final deadline when the provider cannot be called for this user. */
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

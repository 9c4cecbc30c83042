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
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
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
  const { answer, replaced } = await ask(deps, identity)
  if (replaced !== undefined) await storeReplaced(deps, identity, replaced)
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

/** Stores a refresh token that replaced the one of an identity, unless the user signed in meanwhile. */
async function storeReplaced(deps: Deps, { user_id, sub, refresh_token }: Identity, replaced: string): Promise<void> {
  await deps.db.write(async (db) => {
    const box = await openSecretBoxToWrite({ db, deps }, user_id)
    await db
      .updateTable('identity')
      .set({ refresh_token: box.sealSecret('refresh-token', sub, replaced) })
      .where('user_id', '=', user_id)
      .where('refresh_token', '=', refresh_token)
      .execute()
  })
}

const UNKNOWN = { answer: 'unknown', replaced: undefined } as const

/** `unknown`: no answer from the provider, or no refresh token. `replaced`: the token that counts now, although there is no answer. */
async function ask(
  deps: Deps,
  identity: Identity,
): Promise<{ answer: IdentityClaims | 'gone' | 'unknown'; replaced?: string | undefined }> {
  const provider = deps.adapters.provider!
  if (identity.refresh_token === null) return UNKNOWN
  const box = await openSecretBox({ db: deps.db.read, deps }, identity.user_id)
  const token = box.openSecret('refresh-token', identity.sub, identity.refresh_token)
  if (token === undefined) return UNKNOWN
  try {
    // The setting names another provider now, which cannot confirm this identity.
    if (!(await provider.isNamed(identity.issuer))) return UNKNOWN
    return { answer: (await provider.refresh(token, identity)) ?? 'gone' }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    deps.log.warn({ userId: identity.user_id, why: error.message }, 'the provider did not confirm or reject a user')
    return { answer: 'unknown', replaced: error.refreshToken }
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

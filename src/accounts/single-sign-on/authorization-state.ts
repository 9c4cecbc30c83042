/**
 * Binds the provider's response to the browser without a database row. `state` is signed with the browser's secret; nonce and PKCE verifier are
 * derived from both. docs/single-sign-on.md: Protocol.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AuthorizationState } from '../../platform/adapters/identity-provider.ts'
import { randomText } from '../../platform/base/ids.ts'

/** `again`: reauthenticate the current session. `to`: the path that follows. */
export type SignInPurpose = { to: string; again: boolean }

const LASTS_MS = 10 * 60_000

/** Creates the state of one sign-in, valid for 10 minutes. `secret`: sent only by this browser. */
export function createAuthorizationState(
  secret: string,
  { to, again }: SignInPurpose,
  now: number,
): AuthorizationState {
  const payload = Buffer.from(JSON.stringify([randomText(22), now + LASTS_MS, to, again])).toString('base64url')
  return tieOf(secret, `${payload}.${sign(secret, 'state', payload)}`)
}

/** Reads and verifies a `state`. Undefined when expired or of another browser. */
export function readAuthorizationState(
  secret: string,
  state: string,
  now: number,
): { tie: AuthorizationState; purpose: SignInPurpose } | undefined {
  const [payload = '', signature = ''] = state.split('.')
  const [actual, expected] = [Buffer.from(signature), Buffer.from(sign(secret, 'state', payload))]
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  const [, until, to, again] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
    string,
    number,
    string,
    boolean,
  ]
  return until <= now ? undefined : { tie: tieOf(secret, state), purpose: { to, again } }
}

function tieOf(secret: string, state: string): AuthorizationState {
  return { state, nonce: sign(secret, 'nonce', state), verifier: sign(secret, 'verifier', state) }
}

function sign(secret: string, use: string, text: string): string {
  return createHmac('sha256', secret).update(`single sign-on ${use} ${text}`).digest('base64url')
}

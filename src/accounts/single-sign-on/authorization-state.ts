/**
 * Ties the answer of the provider to the browser that asked, without a row in the store: `state` is signed with the secret of the visit, and
 * nonce and PKCE verifier are made from both. Whoever has another browser has another secret. docs/single-sign-on.md: How it is done.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AuthorizationState } from '../../platform/adapters/identity-provider.ts'
import { randomText } from '../../platform/base/ids.ts'

/** What a sign-in is for: to begin a session, or to confirm the one that is there. `to`: the path that follows. */
export type SignInPurpose = { to: string; again: boolean }

const LASTS_MS = 10 * 60_000

/** Makes a tie for one sign-in, of 10 minutes. `secret`: what only this browser's requests bring. */
export function createAuthorizationState(
  secret: string,
  { to, again }: SignInPurpose,
  now: number,
): AuthorizationState {
  const payload = Buffer.from(JSON.stringify([randomText(22), now + LASTS_MS, to, again])).toString('base64url')
  return tieOf(secret, `${payload}.${sign(secret, 'state', payload)}`)
}

/** The tie and the purpose that a `state` is of; undefined: another browser asked, or too long ago. */
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

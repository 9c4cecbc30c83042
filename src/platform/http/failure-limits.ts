/** Failed attempts, counted by client address. Correct credentials are accepted however often others fail. docs/limits.md: Only failing clients wait. */
import type { Deps } from '../../context.ts'
import type { LimitName } from '../../limits.ts'
import { clientAddress, networkOf } from '../base/network.ts'
import { rejectIfExceeded } from '../limiter/limiter.ts'
import { Refusal } from '../refusals/refusal.ts'
import { allOf } from './parse-request.ts'

/** The client of a request: the connection's address, or the one that a trusted proxy sends. */
export type Peer = { readonly remoteAddress?: string | undefined }

/** The part of a request that identifies its client. */
type FromPeer = { rawHeaders: readonly string[]; socket: Peer }

/** Returns the client of a request. Trusts `X-Forwarded-For` only from trusted proxies. docs/limits.md: Behind a proxy. */
export function peerOf({ config: { connections } }: Pick<Deps, 'config'>, { rawHeaders, socket }: FromPeer): Peer {
  if (connections.trustedProxies === undefined) return socket
  const { remoteAddress = '' } = socket
  return {
    remoteAddress: clientAddress(remoteAddress, allOf(rawHeaders, 'x-forwarded-for'), connections.trustedProxies),
  }
}

/** Returns the address or network for which failures are counted. */
export function peerAddress({ remoteAddress = '' }: Peer): string {
  return networkOf(remoteAddress)
}

/** Counts a failure. Refuses: rate_limited 429, above the limit. The first time is logged. */
export async function countFailure(
  deps: Pick<Deps, 'limits' | 'log' | 'clock'>,
  name: LimitName,
  owner: string,
): Promise<void> {
  const now = deps.clock.now()
  const count = await deps.limits.consume(name, owner, now)
  if (count?.remaining === 0 && !count.exceeded)
    deps.log.warn({ limit: name, of: owner }, 'failed-attempt limit reached')
  rejectIfExceeded(count, now, 'failures')
}

const GUESSES: readonly string[] = ['invalid_token', 'operator_only']

/** Counts a failed authentication if it may be a guess. Refuses: rate_limited 429. */
export async function countFailedAuthentication(deps: Deps, error: unknown, peer: Peer): Promise<void> {
  if (error instanceof Refusal && GUESSES.includes(error.key))
    await countFailure(deps, 'token-failures', peerAddress(peer))
}

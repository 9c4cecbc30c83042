/** Failures that may be guesses, counted by the address they come from. What is right is let in however often others were wrong. docs/limits.md: Whoever fails often waits alone. */
import type { Deps } from '../../context.ts'
import type { LimitName } from '../../limits.ts'
import { clientAddress, networkOf } from '../base/network.ts'
import { rejectIfExceeded } from '../limiter/limiter.ts'
import { Refusal } from '../refusals/refusal.ts'
import { allOf } from './parse-request.ts'

/** Who asks: the other end of the connection, or whom a trusted proxy there names. */
export type Peer = { readonly remoteAddress?: string | undefined }

/** A request, as much of it as says where it comes from. */
type FromPeer = { rawHeaders: readonly string[]; socket: Peer }

/** Who asks, by the connection. `X-Forwarded-For` is believed from trusted proxies alone. docs/limits.md: Behind a proxy. */
export function peerOf({ config: { connections } }: Pick<Deps, 'config'>, { rawHeaders, socket }: FromPeer): Peer {
  if (connections.trustedProxies === undefined) return socket
  const { remoteAddress = '' } = socket
  return {
    remoteAddress: clientAddress(remoteAddress, allOf(rawHeaders, 'x-forwarded-for'), connections.trustedProxies),
  }
}

/** The address of a peer, as failures are counted by it. */
export function peerAddress({ remoteAddress = '' }: Peer): string {
  return networkOf(remoteAddress)
}

/** Counts a failure. Refuses: rate_limited 429, once there were more than the limit allows. The first time that happens, the log says so. */
export async function countFailure(
  deps: Pick<Deps, 'limits' | 'log' | 'clock'>,
  name: LimitName,
  owner: string,
): Promise<void> {
  const now = deps.clock.now()
  const count = await deps.limits.consume(name, owner, now)
  if (count?.remaining === 0 && !count.exceeded)
    deps.log.warn({ limit: name, of: owner }, 'many failures, as guessing makes them')
  rejectIfExceeded(count, now, 'failures')
}

const GUESSES: readonly string[] = ['invalid_token', 'operator_only']

/** Counts an error that letting somebody in ended with, when it may be a guess. Refuses: rate_limited 429. */
export async function countFailedAuthentication(deps: Deps, error: unknown, peer: Peer): Promise<void> {
  if (error instanceof Refusal && GUESSES.includes(error.key))
    await countFailure(deps, 'token-failures', peerAddress(peer))
}

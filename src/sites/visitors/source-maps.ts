/** Protects source maps of otherwise open deployments: members get them, other visitors get 404. docs/deploying-sites.md: Source maps. */
import type { HostProtection } from '../../platform/verdict/hosts.ts'
import { RETURN_PATH } from '../../platform/verdict/site-sign-in.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import type { Decision } from '../router/decision.ts'
import type { Admission } from './admission.ts'
import { keepBypass } from './bypass-cookie.ts'
import type { Exchange } from './carry-out.ts'
import { keepPrivate } from './shared-caches.ts'
import { answerAtDoor, isOfPerson } from './sign-in.ts'
import type { Visit } from './visit.ts'

/** Returns whether the router found a source map, at any address. */
export function isSourceMap(decision: Decision): boolean {
  return decision.kind === 'file' && /\.map$/i.test(decision.file.path)
}

/** Returns whether a visitor starts or completes a sign-in on a host where members sign in only for source maps. */
export function isSignInForMaps(guard: HostProtection | undefined, { request }: Visit): boolean {
  return guard !== undefined && request.path === RETURN_PATH
}

/**
 * Returns the response to a request for a source map: undefined if access is allowed, `hidden` if it must look missing. A user
 * who opens its address in a browser is redirected to sign in, or prompted for the project password, like at a protected
 * deployment.
 */
export async function answerAtSourceMap(
  admission: Pick<Admission, 'refuse' | 'redeem'>,
  guard: HostProtection,
  { visitor, ...visit }: Visit,
  exchange: Exchange,
): Promise<EdgeResponse | 'hidden' | undefined> {
  const { raw, response } = exchange
  keepPrivate(response)
  const asking = { ...visit, visitor: { ...visitor, wantsSourceMap: true } }
  const answer = await answerAtDoor(admission, guard, asking, exchange)
  if (answer === undefined) keepBypass(raw, response, visitor)
  if (answer === undefined || answer.status === 303 || answer.status === 503) return answer
  return isSignInForMaps(guard, asking) || (answer.status === 401 && isOfPerson(asking, raw)) ? answer : 'hidden'
}

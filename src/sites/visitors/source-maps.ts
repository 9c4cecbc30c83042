/**
 * Source maps of a project that protects them, on a deployment that is open otherwise: members get them, and for everybody else there are none.
 * docs/deploying-sites.md: Source maps.
 */
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

/** Whether the router found a source map, by whatever address. */
export function isSourceMap(decision: Decision): boolean {
  return decision.kind === 'file' && /\.map$/i.test(decision.file.path)
}

/** Whether a visitor comes back from the console, or asks to be led there, on a host where members sign in for source maps alone. */
export function isSignInForMaps(guard: HostProtection | undefined, { request }: Visit): boolean {
  return guard !== undefined && request.path === RETURN_PATH
}

/**
 * The answer to a visitor who asks for a source map: undefined where they may have it, `hidden` where it is to be as if it was not there. A person who
 * opens its address in a browser is led to sign in, or asked for the password of the project, as at a protected deployment.
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

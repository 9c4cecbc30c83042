/** Renews pages of a deployment for its own functions. docs/prerendering.md: Revalidation on demand. */
import type { Frame } from '../../launcher/frames.ts'
import { createSharedSlots } from '../../platform/fairness/shared-slots.ts'
import { readHost } from '../../platform/verdict/host-name.ts'
import type { AskSelf } from '../pictures/inner-request.ts'
import type { KnownHosts } from '../snapshot/known-hosts.ts'
import type { DataOwner, ServedFrame } from './serve.ts'

/** Answers the operation `renew`. */
export type Renew = (owner: DataOwner, head: Frame['head']) => Promise<ServedFrame>

/** TABLE headers of the function that go along: the token, and what its own middleware may want. */
const HEADERS = [
  'x-prerender-revalidate',
  'x-prerender-revalidate-if-generated',
  'cookie',
  'x-vercel-protection-bypass',
]
/** Pages that are renewed at once, and those of one account. */
const [AT_ONCE, OF_ACCOUNT] = [512, 128]
/** The longest that a function may take. */
const LIMIT_MS = 300_000
const NOBODY = '127.0.0.1'
const REFUSED: ServedFrame = { head: { ok: false } }

/**
 * Creates what asks the own sites of this server, past their protection. The host must be one of the deployment that asks, and its function gets the
 * status and the state of the page alone.
 */
export function createRenewals(known: () => Pick<KnownHosts, 'find'>, askSelf: AskSelf): Renew {
  const slots = createSharedSlots({ slots: AT_ONCE, ofOwner: OF_ACCOUNT })
  return async ({ account, deploymentId }, head) => {
    if (!(await slots.acquire(account, deploymentId, 0))) return REFUSED
    try {
      const host = await ownHost(known(), deploymentId, head.host)
      return host === undefined ? REFUSED : await renew(askSelf, host, head)
    } catch {
      // Also a path or a header that is not of HTTP.
      return REFUSED
    } finally {
      slots.release(account, deploymentId)
    }
  }
}

/** The host with its port. Undefined: it is of another deployment, or not known now. */
async function ownHost(
  known: Pick<KnownHosts, 'find'>,
  deploymentId: string,
  given: unknown,
): Promise<string | undefined> {
  const name = typeof given === 'string' ? readHost(given) : undefined
  const entry = name && (await known.find(name.host, NOBODY))
  if (entry === undefined || entry === 'unavailable' || entry.serving.kind !== 'live') return undefined
  return entry.serving.deploymentId === deploymentId ? name!.host + name!.port : undefined
}

async function renew(askSelf: AskSelf, host: string, { path, isSecure, headers }: Frame['head']): Promise<ServedFrame> {
  // A whole URL would name another host.
  if (typeof path !== 'string' || !path.startsWith('/')) return REFUSED
  const given = Object.entries(Object(headers)).filter(([name]) => HEADERS.includes(name))
  const own = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  const request = { method: 'HEAD', isSecure: isSecure === true, host, path, headers: own } as const
  return askSelf(request, AbortSignal.timeout(LIMIT_MS), async (answer) => ({
    head: { status: answer.status, cached: answer.headers['x-vercel-cache'] },
  }))
}

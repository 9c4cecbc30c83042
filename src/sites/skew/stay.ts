/** Serves visitors from the deployment that their page came from, while it is valid. docs/deploying-sites.md: Skew protection. */
import type { OutputFacts } from '../../platform/verdict/facts.ts'
import type { HostEntry } from '../../platform/verdict/hosts.ts'
import type { SkewProtection } from '../../platform/verdict/site-settings.ts'
import type { Live } from '../../platform/verdict/verdict.ts'
import type { VisitorRequest } from '../router/request.ts'
import type { KnownHosts } from '../snapshot/known-hosts.ts'
import { readPinnedDeployment } from './wish.ts'

/** The output to serve. `isPrivate`: it differs from the output of the host. `gone`: missing or too old. `unavailable`: unknown now. */
type Staying =
  | { output: OutputFacts; deploymentId: string; environment: string; isPrivate: boolean }
  | 'gone'
  | 'unavailable'

/**
 * Returns the output for a visitor: that of the host, or of a pinned deployment of the same project and environment. Guards and
 * pauses of the host still apply, since they are the same within an environment.
 */
export async function stay(
  known: Pick<KnownHosts, 'findDeployment'>,
  { entry, live }: { entry: HostEntry; live: Live & { output: OutputFacts } },
  request: VisitorRequest,
  address: string,
): Promise<Staying> {
  const skew = entry.version && entry.settings?.skewProtection
  const { environment = '' } = entry
  if (skew === undefined) return { output: live.output, deploymentId: live.deploymentId, environment, isPrivate: false }
  const {
    deploymentId: wanted = live.deploymentId,
    ofAddress = live.deploymentId,
    isNavigation,
  } = readPinnedDeployment(request, skew)
  const isPrivate = ofAddress !== live.deploymentId
  const current = { output: live.output, deploymentId: live.deploymentId, environment, isPrivate }
  if (wanted === live.deploymentId) return current
  const found = await known.findDeployment(wanted, address)
  const output = typeof found === 'string' ? undefined : outputOf(found, { entry, live }, skew, Date.now())
  if (output !== undefined) {
    const own = (found as HostEntry).environment ?? environment
    return { output, deploymentId: wanted, environment: own, isPrivate: ofAddress !== wanted }
  }
  // Navigation always works, whatever a browser has stored.
  if (isNavigation) return current
  return found === 'unavailable' ? 'unavailable' : 'gone'
}

function outputOf(
  { serving, version }: HostEntry,
  { entry, live }: { entry: HostEntry; live: Live },
  { maxAge, boundaryAt = 0 }: SkewProtection,
  now: number,
): OutputFacts | undefined {
  if (serving.kind !== 'live' || serving.output === null || version?.createdAt === undefined) return undefined
  if (serving.projectId !== live.projectId || version.environment !== entry.version?.environment) return undefined
  const { createdAt } = version
  return createdAt >= boundaryAt && now - createdAt < maxAge * 1000 ? serving.output : undefined
}

/** Leads a visitor to the deployment that their page came from, while it counts. docs/deploying-sites.md: Skew protection. */
import type { OutputFacts } from '../../platform/verdict/facts.ts'
import type { HostEntry } from '../../platform/verdict/hosts.ts'
import type { SkewProtection } from '../../platform/verdict/site-settings.ts'
import type { Live } from '../../platform/verdict/verdict.ts'
import type { VisitorRequest } from '../router/request.ts'
import type { KnownHosts } from '../snapshot/known-hosts.ts'
import { readPinnedDeployment } from './wish.ts'

/** The output to show. `isPrivate`: it is not what the address alone leads to. `gone`: not there, or too old. `unavailable`: that cannot be known now. */
type Staying = { output: OutputFacts; isPrivate: boolean } | 'gone' | 'unavailable'

/**
 * The output that a visitor of a host sees: what the host leads to, or that of another deployment of its project and environment that the visitor
 * asks for. Guards and pauses of the host hold for it too: within an environment they are the same.
 */
export async function stay(
  known: Pick<KnownHosts, 'findDeployment'>,
  { entry, live }: { entry: HostEntry; live: Live & { output: OutputFacts } },
  request: VisitorRequest,
  address: string,
): Promise<Staying> {
  const skew = entry.version && entry.settings?.skewProtection
  if (skew === undefined) return { output: live.output, isPrivate: false }
  const {
    deploymentId: wanted = live.deploymentId,
    ofAddress = live.deploymentId,
    isNavigation,
  } = readPinnedDeployment(request, skew)
  const current = { output: live.output, isPrivate: ofAddress !== live.deploymentId }
  if (wanted === live.deploymentId) return current
  const found = await known.findDeployment(wanted, address)
  const output = typeof found === 'string' ? undefined : outputOf(found, { entry, live }, skew, Date.now())
  if (output !== undefined) return { output, isPrivate: ofAddress !== wanted }
  // A page can be opened, whatever a browser kept.
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

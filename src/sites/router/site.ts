import { canChange, inLowerCase } from '../../delivery/protocol/message-headers.ts'
import {
  type Condition,
  PHASES,
  type Phase,
  type Route,
  type RoutingManifest,
  type Transform,
} from '../../delivery/protocol/routing-manifest.ts'
import { type ReadyImages, readyImages } from '../pictures/picture-request.ts'
import type { ReadyCondition } from './conditions.ts'
import { type FileIndex, indexFiles } from './file-index.ts'
import { type Matcher, matcherOf } from './pattern.ts'

export type ReadyRoute = Omit<Route, 'has' | 'missing'> & {
  matcher: Matcher
  has?: ReadyCondition[]
  missing?: ReadyCondition[]
}

export type Site = {
  phases: Record<Phase, ReadyRoute[]>
  files: FileIndex
  wildcards: ReadonlyMap<string, string>
  locales: ReadonlySet<string>
  images: ReadyImages | undefined
}

/** Prepares a manifest for routing. Takes a few milliseconds for the largest one; patterns are compiled on first use. */
export function openSite(manifest: RoutingManifest): Site {
  const phases = Object.fromEntries(PHASES.map((phase) => [phase, manifest.phases[phase].map(readyRoute)]))
  return {
    phases: phases as Record<Phase, ReadyRoute[]>,
    files: indexFiles(manifest),
    wildcards: new Map(manifest.wildcards.map(({ domain, value }) => [domain, value])),
    locales: new Set(
      Object.values(manifest.phases)
        .flat()
        .flatMap(({ locale }) => locale?.redirects.map((redirect) => redirect.locale) ?? []),
    ),
    images: manifest.images && readyImages(manifest.images),
  }
}

function readyRoute(route: Route): ReadyRoute {
  const { source, caseSensitive = false, has, missing, transforms } = route
  return {
    ...route,
    matcher: matcherOf(source, caseSensitive),
    ...(has && { has: has.map(readyCondition) }),
    ...(missing && { missing: missing.map(readyCondition) }),
    ...(transforms && { transforms: transforms.flatMap(readyTransform) }),
  }
}

/** Manifests of older versions contain header names in the deployment's spelling, and names that it may not change. */
function readyTransform(transform: Transform): Transform[] {
  if (!transform.target.endsWith('.headers')) return [transform]
  const match = inLowerCase(transform.match)
  return match.eq !== undefined && !canChange(String(match.eq)) ? [] : [{ ...transform, match }]
}

/** Prepares a condition. */
export function readyCondition(condition: Condition): ReadyCondition {
  const pattern = condition.match?.pattern
  return pattern === undefined ? condition : { ...condition, matcher: matcherOf(pattern, true) }
}

/** What counts for the cached pages and data of a project: its purges, and whether its data cache is off. docs/data-cache.md: Purges. */
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import type { CachePurges } from '../../platform/verdict/cache-purges.ts'
import type { SiteSettings } from '../../platform/verdict/site-settings.ts'
import { setNewest } from '../content/newest.ts'

type ProjectState = { purges: CachePurges | undefined; isDisabled: boolean }
type Known = { purges?: CachePurges | undefined; settings?: SiteSettings | undefined }

export type ProjectStates = {
  /** Takes what the facts say at a visitor's request. Returns the purges that count. */
  note(projectId: string, known: Known): CachePurges | undefined
  /** Takes the answer of the control plane to a purge, which may be newer than the facts. */
  learn(projectId: string, purges: CachePurges): void
  /** Undefined: nothing is known of the project. */
  get(projectId: string): ProjectState | undefined
  take(lines: readonly FactLine[]): void
}

/** Until the facts have a purge too. Afterwards they count, also those of a restored database. */
const AHEAD_MS = 60_000
const MAX_PROJECTS = 50_000
const MAX_AHEAD = 10_000

/** Creates the states. */
export function createProjectStates(now: () => number): ProjectStates {
  const states = new Map<string, ProjectState>()
  const ahead = new Map<string, { purges: CachePurges; until: number }>()
  const newer = (projectId: string, purges: CachePurges | undefined) => {
    const learned = ahead.get(projectId)
    if (learned === undefined) return purges
    if (learned.until > now() && learned.purges.last > (purges?.last ?? 0)) return learned.purges
    ahead.delete(projectId)
    return purges
  }
  const note: ProjectStates['note'] = (projectId, { purges: known, settings }) => {
    const purges = newer(projectId, known)
    setNewest(states, projectId, { purges, isDisabled: settings?.dataCacheDisabled === true }, MAX_PROJECTS)
    return purges
  }
  return {
    note,
    learn(projectId, purges) {
      if ((ahead.get(projectId)?.purges.last ?? 0) >= purges.last) return
      setNewest(ahead, projectId, { purges, until: now() + AHEAD_MS }, MAX_AHEAD)
      const state = states.get(projectId)
      if (state !== undefined) state.purges = newer(projectId, state.purges)
    },
    get: (projectId) => states.get(projectId),
    take(lines) {
      for (const line of lines) {
        if (line.kind === 'gone' && line.of === 'project') states.delete(line.id)
        else if (line.kind === 'project' && states.has(line.id)) note(line.id, line)
      }
    },
  }
}

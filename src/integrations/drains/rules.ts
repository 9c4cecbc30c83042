/** Validates requests of `/v1/drains`: unsupported values are errors, not ignored. docs/webhooks.md: Log drains. */
import type { Ctx } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mustBeEndpointUrl } from '../webhooks/rules.ts'
import type { Filter, NewDrain, PatchDrain } from './drain-schema.ts'

type Said = Pick<PatchDrain, 'projects' | 'projectIds' | 'filter'>

/** Refuses: bad_request 400, for anything but log lines. */
export function mustBeLogs(schemas: NewDrain['schemas']): void {
  const kind = Object.keys(schemas).find((name) => name !== 'log')
  if (kind === undefined) return
  wrong(`\`schemas\`: Berth sends log lines (\`log\`), and has no \`${kind.slice(0, 100)}\` to send`)
}

/** Refuses: bad_request 400, for a URL that cannot be posted to. */
export function mustBeEndpoint(ctx: Ctx, { endpoint }: NewDrain['delivery']): void {
  mustBeEndpointUrl(ctx, endpoint, 'delivery.endpoint')
}

/** Checks that the source names an integration exactly when the caller is one. Refuses: bad_request 400. */
export function mustBeSource(source: NewDrain['source'], installationId: string | null): void {
  const kind = installationId === null ? 'self-served' : 'integration'
  if (source?.kind === undefined || source.kind === kind) return
  wrong(`\`source.kind\` should be \`${kind}\`: it depends on the token that creates the drain`)
}

/** Returns the sources and environments of a filter; undefined for all. */
export function linesOf(filter: Filter | undefined) {
  return { sources: filter?.filter.log?.sources, environments: filter?.filter.deployment?.environments }
}

/** Returns the selected projects; null for all, undefined when not specified. Refuses: bad_request 400, for contradicting fields. */
export function drainProjects({ projects, projectIds, filter }: Said): readonly string[] | null | undefined {
  const inFilter = filter?.filter.project?.ids
  const ids = projectIds ?? inFilter
  if (projectIds && inFilter && !haveSame(projectIds, inFilter))
    wrong('`projectIds` and `filter.filter.project.ids` name different projects: name them once')
  if (projects === 'some' && ids === undefined) wrong('`projectIds` should name projects where `projects` is `some`')
  if (projects === 'some' && ids === null) wrong('`projectIds` should name projects where `projects` is `some`')
  if (projects === 'all' && ids) wrong('`projects` is `all`, so leave out the ids of projects')
  return projects === 'all' || projectIds === null ? null : ids
}

function haveSame(a: readonly string[], b: readonly string[]): boolean {
  const both = new Set([...a, ...b])
  return both.size === new Set(a).size && both.size === new Set(b).size
}

function wrong(sentence: string): never {
  refuse('bad_request', `Invalid request: ${sentence}.`)
}

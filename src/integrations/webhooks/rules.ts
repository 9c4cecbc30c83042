/** Valid URLs, events and projects of an endpoint. Its creator must be allowed to see everything sent there. */
import { isIP } from 'node:net'
import type { Ctx } from '../../context.ts'
import { EVENTS } from '../../events.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { projectFilter } from '../../platform/access/guards.ts'
import { isPublicAddress } from '../../platform/adapters/addresses.ts'
import { urlError } from '../../platform/adapters/egress.ts'
import { isEmittedEvent, resolveEventName, WEBHOOK_EVENT_NAMES } from '../../platform/outbox/event-names.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

/** Webhooks, and log drains, that the users of an account can register, and each installation on it. */
export const MAX_ENDPOINTS = 20
/** Most webhooks or log drains in a list, the newest. With those of many installations an account has more. */
export const MAX_LISTED_ENDPOINTS = 1000

/** Refuses: bad_request 400 for a URL that cannot be posted to. Host names are resolved at each delivery, because their addresses can change. */
export function mustBeEndpointUrl(ctx: Pick<Ctx, 'deps'>, text: string, field = 'url'): void {
  const fault = urlError(text) ?? (ctx.deps.config.allowPrivateWebhooks ? undefined : privateError(text))
  if (fault !== undefined) refuse('bad_request', `Invalid request: \`${field}\`: ${fault}.`)
}

function privateError(text: string): string | undefined {
  const host = new URL(text).hostname.replace(/^\[|\]$/g, '')
  const local = /^(.+\.)?localhost\.?$/.test(host) || (isIP(host) !== 0 && !isPublicAddress(host))
  return local
    ? 'the address is private, local or reserved; an operator can allow such addresses with BERTH_ALLOW_PRIVATE_WEBHOOKS=1'
    : undefined
}

function likelyEvents(unknown: string): string {
  const near = WEBHOOK_EVENT_NAMES.filter((name) => groupOf(name) === groupOf(unknown))
  if (near.length > 0) return `The events are ${near.join(', ')}.`
  const groups = [...new Set(WEBHOOK_EVENT_NAMES.map(groupOf))]
  return `Their names begin with ${groups.map((group) => `${group}.`).join(', ')}: /docs/createWebhook lists them.`
}

function groupOf(event: string): string {
  return event.split('.', 1)[0]!
}

/**
 * Returns the event names without duplicates, as spelled. Callers can subscribe only to events that they may see, project-limited tokens only to
 * events of one project. Refuses: bad_request 400 (it lists names of the same group, or the groups), missing_permission 403.
 */
export function validateEvents(ctx: Ctx, names: readonly string[]): string[] {
  const unknown = names.find((name) => resolveEventName(name) === undefined)
  if (unknown !== undefined) {
    const text = JSON.stringify(unknown.slice(0, 100))
    refuse('bad_request', `Invalid request: \`events\`: there is no event ${text}. ${likelyEvents(unknown)}`)
  }
  for (const spelling of names) {
    const name = resolveEventName(spelling)!
    if (!isEmittedEvent(name)) continue
    permit(ctx.caller, EVENTS[name].needs)
    // A webhook of an installation gets events of its own variables only. A user's webhook gets those of all variables.
    if (name.startsWith('project.env-variable.') && ctx.caller.installationId === null) permit(ctx.caller, ['env:all'])
    if (isNarrow(ctx) && !('project' in EVENTS[name].payload.properties)) {
      refuse(
        'missing_permission',
        `This token is limited to some projects: \`${spelling}\` covers the whole account. Leave it out, or use a token for all projects.`,
      )
    }
  }
  return [...new Set(names)]
}

/** Whether the caller is a user with a project-limited token. Events of an installation are filtered at delivery. */
function isNarrow({ caller }: Ctx): boolean {
  return caller.projectIds !== null && caller.installationId === null
}

/**
 * Returns the projects of an endpoint; null for all. A project-limited token cannot register an endpoint for others. (An installation's selection is
 * read at every event.) Refuses: unknown_project 400, missing_permission 403.
 */
export async function validateProjects(ctx: Ctx, ids: readonly string[] | null | undefined): Promise<string[] | null> {
  if (ids === null || ids === undefined) {
    if (isNarrow(ctx))
      refuse('missing_permission', 'This token is limited to some projects: name them in `projectIds`.')
    return null
  }
  const rows = await ctx.db
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', ctx.account.id)
    .where('id', 'in', [...ids])
    .execute()
  const there = new Set(rows.map(({ id }) => id).filter(projectFilter(ctx.caller)))
  const unknown = ids.find((id) => !there.has(id))
  if (unknown !== undefined) refuse('unknown_project', `Project "${unknown.slice(0, 100)}" not found.`)
  return [...there]
}

type EndpointRow = { configuration_id: string | null; project_ids_json: string | null }

/** Whether an endpoint is visible to the caller. */
export function canSeeEndpoint(ctx: Ctx, row: EndpointRow): boolean {
  return visibleEndpoints(ctx, [row]).length > 0
}

/** Returns the endpoints that are visible to the caller. An installation sees its own. A project-limited token sees those limited to its projects. */
export function visibleEndpoints<R extends EndpointRow>({ caller }: Ctx, rows: readonly R[]): R[] {
  const { installationId, projectIds } = caller
  if (installationId !== null) return rows.filter((row) => row.configuration_id === installationId)
  if (projectIds === null) return [...rows]
  const canSee = projectFilter(caller)
  return rows.filter(
    ({ project_ids_json: json }) => json !== null && (JSON.parse(json) as string[]).every((id) => canSee(id)),
  )
}

/** What an endpoint may be: its URL, its events and its projects. Whoever registers it must be allowed to see what is sent there. */
import { isIP } from 'node:net'
import type { Ctx } from '../../context.ts'
import { EVENTS } from '../../events.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { isPublicAddress } from '../../platform/adapters/addresses.ts'
import { urlError } from '../../platform/adapters/egress.ts'
import { isEmittedEvent, resolveEventName, WEBHOOK_EVENT_NAMES } from '../../platform/outbox/event-names.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

/** How many webhooks, and how many log drains, the people of an account may register, and each installation on it. */
export const MAX_ENDPOINTS = 20

/** Refuses: bad_request 400 for a URL that nothing can be posted to. A host name is looked up when something is sent, because its addresses can change. */
export function mustBeEndpointUrl(ctx: Pick<Ctx, 'deps'>, text: string, field = 'url'): void {
  const fault = urlError(text) ?? (ctx.deps.config.allowPrivateWebhooks ? undefined : privateFault(text))
  if (fault !== undefined) refuse('bad_request', `Invalid request: \`${field}\`: ${fault}.`)
}

function privateFault(text: string): string | undefined {
  const host = new URL(text).hostname.replace(/^\[|\]$/g, '')
  const local = /^(.+\.)?localhost\.?$/.test(host) || (isIP(host) !== 0 && !isPublicAddress(host))
  return local ? 'the address is private, local or reserved' : undefined
}

/**
 * Gives the names of events, each once, as the caller spelled them. Nobody subscribes to events that they may not see. A token that is limited
 * to some projects subscribes only to events that tell of one project. Refuses: bad_request 400 (it lists the names), missing_permission 403.
 */
export function validateEvents(ctx: Ctx, names: readonly string[]): string[] {
  const unknown = names.find((name) => resolveEventName(name) === undefined)
  if (unknown !== undefined) {
    const text = JSON.stringify(unknown.slice(0, 100))
    refuse(
      'bad_request',
      `Invalid request: \`events\`: there is no event ${text}. The events are ${WEBHOOK_EVENT_NAMES.join(', ')}.`,
    )
  }
  for (const spelling of names) {
    const name = resolveEventName(spelling)!
    if (!isEmittedEvent(name)) continue
    permit(ctx.caller, EVENTS[name].needs)
    // A webhook of an installation hears of the installation's own variables only. A person's webhook hears of all variables.
    if (name.startsWith('project.env-variable.') && ctx.caller.installationId === null) permit(ctx.caller, ['env:all'])
    if (isNarrow(ctx) && !('project' in EVENTS[name].payload.properties)) {
      refuse(
        'missing_permission',
        `This token is limited to some projects: \`${spelling}\` tells of the whole account. Leave it out, or use a token of all projects.`,
      )
    }
  }
  return [...new Set(names)]
}

/** Whether the caller is a person whose token is limited to some projects. The events of an installation are limited when they are sent. */
function isNarrow({ caller }: Ctx): boolean {
  return caller.projectIds !== null && caller.installationId === null
}

/**
 * Gives the projects that an endpoint is limited to; null: it hears of all. A token that is limited to some projects cannot register an
 * endpoint that hears of others. (The selection of an installation is read at every event.) Refuses: unknown_project 400, missing_permission 403.
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
  const there = new Set(rows.map(({ id }) => id).filter((id) => canSeeProject(ctx.caller, id)))
  const unknown = ids.find((id) => !there.has(id))
  if (unknown !== undefined) refuse('unknown_project', `There is no project with the id "${unknown.slice(0, 100)}".`)
  return [...there]
}

/**
 * Whether the caller may know that an endpoint exists. An installation knows of those that it registered. A token that is limited to some projects
 * knows of those that hear of no other project.
 */
export function canSeeEndpoint(
  { caller }: Ctx,
  row: { configuration_id: string | null; project_ids_json: string | null },
): boolean {
  if (caller.installationId !== null) return row.configuration_id === caller.installationId
  if (caller.projectIds === null) return true
  const projectIds = row.project_ids_json === null ? undefined : (JSON.parse(row.project_ids_json) as string[])
  return projectIds?.every((id) => canSeeProject(caller, id)) ?? false
}

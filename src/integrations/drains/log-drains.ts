/** Log drains by the older paths `/v1/log-drains` and `/v2/integrations/log-drains`. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { mustBeEndpointUrl } from '../webhooks/rules.ts'
import { parseHeaders } from './headers.ts'
import { type DrainRow, type LogDrain, type LogDrainReply, type NewLogDrain, showLogDrain } from './schema.ts'
import { insertDrain, listVisibleDrains, transferDrainOwnership } from './store.ts'

/**
 * Creates a log drain, and a secret if none is sent. Only this response contains the secret. Refuses: bad_request 400, unknown_project 400,
 * missing_permission 403, too_many_endpoints 400.
 */
export async function createLogDrain(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, NewLogDrain>,
): Promise<Static<typeof LogDrainReply>> {
  mustBeEndpointUrl(ctx, body.url)
  const { row, secret } = await insertDrain(ctx, {
    name: body.name ?? 'log drain',
    url: body.url,
    deliveryFormat: body.deliveryFormat ?? 'json',
    headers: parseHeaders(body.headers ?? {}, 'headers'),
    secret: body.secret,
    sources: body.sources,
    environments: body.environments,
    projectIds: body.projectIds,
    sampling: undefined,
  })
  return { ...showLogDrain(row), secret }
}

/** Returns a log drain with an empty secret. */
export function getLogDrain(_ctx: Ctx, row: DrainRow): Static<typeof LogDrainReply> {
  return { ...showLogDrain(row), secret: '' }
}

/** Lists the drains that are visible to the caller, newest first. */
export async function listLogDrains(ctx: Ctx): Promise<LogDrain[]> {
  return mapInSlices(await listVisibleDrains(ctx), showLogDrain)
}

/** Makes the caller, an OWNER, the owner of a drain, and resumes it if it was on hold. Refuses: bad_request 400, not_found 404. */
export async function transferLogDrain(ctx: Ctx, row: DrainRow): Promise<Static<typeof LogDrainReply>> {
  return getLogDrain(ctx, await transferDrainOwnership(ctx, row))
}

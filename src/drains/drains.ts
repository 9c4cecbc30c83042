/** Log drains of an account: make, list, get, remove. docs/spec/wire.md 6; docs/webhooks.md. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { newId, randomText } from '../ids.ts'
import { refuse } from '../refusal.ts'
import { openSecretBoxToWrite } from '../secrets/data-keys.ts'
import { takeOverEndpoint } from '../webhooks/held.ts'
import { isKnown, MOST_ENDPOINTS, mustBeProjects, mustBeUrl } from '../webhooks/rules.ts'
import { type DrainRow, ENVIRONMENTS, type LogDrain, type NewDrain, type OneLogDrain, showDrain } from './schema.ts'

const MOST_HEADER_BYTES = 8192
/** Headers that Berth sets itself, and those that belong to a connection (RFC 9110, 7.6.1). */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*|x-vercel-signature|user-agent|webhook-.*)$/

/**
 * Makes a log drain. Its secret is made when none is given, and is in this answer and in no other. Refuses: bad_request 400,
 * unknown_project 400, missing_permission 403, too_many_endpoints 400.
 */
export async function createDrain(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, NewDrain>,
): Promise<Static<typeof OneLogDrain>> {
  mustBeUrl(ctx, body.url)
  const headers = mustBeHeaders(body.headers ?? {})
  const projectIds = await mustBeProjects(ctx, body.projectIds)
  const own = (await withIntegration(ctx).execute()).filter((row) => row.configuration_id === ctx.who.installationId)
  if (own.length >= MOST_ENDPOINTS) refuse('too_many_endpoints')
  const id = newId('ld')
  const secret = body.secret ?? randomText(40)
  const box = await openSecretBoxToWrite(ctx, ctx.account.id)
  const row: Row<'log_drain'> = {
    id,
    account_id: ctx.account.id,
    configuration_id: ctx.who.installationId,
    name: body.name ?? 'log drain',
    url: body.url,
    delivery_format: body.deliveryFormat ?? 'json',
    sealed_secret: box.sealSecret('log-drain', id, secret),
    sealed_headers: headers && box.sealSecret('log-drain', `${id}:headers`, JSON.stringify(headers)),
    sources_json: body.sources ? JSON.stringify(body.sources) : null,
    environments_json: JSON.stringify(body.environments ?? ENVIRONMENTS),
    project_ids_json: projectIds && JSON.stringify(projectIds),
    created_by: ctx.who.installationId === null ? ctx.who.userId : null,
    created_stamp: ctx.stamp,
    updated_at: ctx.now,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    held_at: null,
    held_reason: null,
  }
  await ctx.db.insertInto('log_drain').values(row).execute()
  return { ...showDrain(await withIntegration(ctx).where('log_drain.id', '=', id).executeTakeFirstOrThrow()), secret }
}

function withIntegration(ctx: Ctx) {
  return ctx.db
    .selectFrom('log_drain')
    .leftJoin('configuration', 'configuration.id', 'log_drain.configuration_id')
    .selectAll('log_drain')
    .select('configuration.integration_id')
    .where('log_drain.account_id', '=', ctx.account.id)
}

/** The headers with their names in lower case; null: there are none. Their values may be credentials, so they are never shown. */
function mustBeHeaders(headers: Record<string, string>): Record<string, string> | null {
  const result: Record<string, string> = {}
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase()
    const fault = headerFault(name, value) ?? (Object.hasOwn(result, name) ? 'is given twice' : undefined)
    if (fault !== undefined) refuse('bad_request', `Invalid request: \`headers.${header.slice(0, 100)}\` ${fault}.`)
    result[name] = value
  }
  const text = JSON.stringify(result)
  if (text.length > MOST_HEADER_BYTES) refuse('bad_request', 'Invalid request: `headers` should be at most 8 KiB.')
  return Object.keys(result).length === 0 ? null : result
}

function headerFault(name: string, value: string): string | undefined {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) return 'is not a valid header name'
  if (OWN_HEADERS.test(name)) return 'cannot be set'
  return /^[\x20-\x7e]*$/.test(value) ? undefined : 'should be visible ASCII characters'
}

/** Finds a drain of the account that the caller may know of. Refuses: not_found 404. */
export async function findDrain(ctx: Ctx, params: Params): Promise<DrainRow> {
  const id = params.id ?? ''
  const row = await withIntegration(ctx).where('log_drain.id', '=', id).executeTakeFirst()
  if (row === undefined || !isKnown(ctx, row)) refuse('not_found', `There is no log drain "${id.slice(0, 100)}".`)
  return row
}

export function getDrain(_ctx: Ctx, row: DrainRow): Static<typeof OneLogDrain> {
  return { ...showDrain(row), secret: '' }
}

/** Lists the drains that the caller may know of, newest first. */
export async function listDrains(ctx: Ctx): Promise<LogDrain[]> {
  const rows = await withIntegration(ctx).orderBy('log_drain.created_stamp', 'desc').execute()
  return rows.filter((row) => isKnown(ctx, row)).map(showDrain)
}

/** Makes the caller, an OWNER, the owner of a drain. If it was held, it gets lines again. Refuses: bad_request 400, not_found 404. */
export async function transferDrain(ctx: Ctx, row: Row<'log_drain'>): Promise<Static<typeof OneLogDrain>> {
  await takeOverEndpoint(ctx, 'log_drain', row)
  return getDrain(ctx, await findDrain(ctx, { id: row.id }))
}

/** Removes a drain. Lines that wait for it are dropped. */
export async function deleteDrain(ctx: Ctx, row: Row<'log_drain'>): Promise<void> {
  await ctx.db.deleteFrom('log_drain').where('id', '=', row.id).execute()
}
